import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { type Caller, isPrincipalKind, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { type PatternDraft, patternOf, writtenPattern } from '../../policy/pattern.ts'
import { principalOf, type RuleDraft, ruleOf, writtenRule } from '../../policy/rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import { ACTIONS, APPROVERS, type PolicyContext } from '../../policy/ruling.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { json, text, withoutNulls } from '../input.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import { createInput } from '../tasks/task-input.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import { categoryOf } from './context.ts'
import { type CopyParts, copyOf, type PolicyCopy } from './copy.ts'
import { checkPattern, checkRule } from './shape.ts'

const MAX_TESTED = 200

const testedContext = z
  .strictObject({
    type: text(255).optional().describe(`Type of the task; ${TOOL_CALL} if tool is given, else required`),
    upstream: text(255).optional().describe('The upstream of the tool'),
    tool: text(256).optional().describe('The name of the tool, as its upstream calls it'),
    category: text(128).optional().describe('Category of the tool; its configured category if absent'),
    principal: text(300).optional().describe('The caller, as kind:id or the id of an agent; you if absent'),
    agent: text(255).optional().describe('Agent on whose behalf the task is done; the principal if absent'),
    session: text(255).optional().describe('The session of the call, or session_id of the task'),
    args: json.optional().describe('The payload of the task, or the arguments of the tool; {} if absent'),
    inputs: createInput.shape.inputs.describe('inputs of the task'),
    body: createInput.shape.body.describe('body of the task'),
    payload_pointer: createInput.shape.payload_pointer.describe(
      'payload_pointer of the task. Rules with conditions on args cannot see what is there, and block',
    ),
    requirements: createInput.shape.requirements.describe('requirements of the task'),
  })
  .describe('The task or tool call to evaluate')

export const testedShape = z.object({
  action: z.enum(ACTIONS).describe('What would happen to the task or tool call'),
  rule_id: z.string().nullable().describe('The rule that decides; null: the default action'),
  reason: z.string().describe('Why, in words'),
  approve_by: z
    .enum(APPROVERS)
    .nullable()
    .describe(
      'Who could approve it: only a person, or also the user of the client in the client. Null unless approval is required',
    ),
  args: json.describe('The arguments after redaction'),
  redacted_fields: z.array(z.string()).readonly().describe('JSON pointers into args to redacted values'),
  redacts_result: z.boolean().describe('Whether the result would be redacted'),
  considered: z
    .array(
      z.object({
        id: z.string().describe('Id of the rule'),
        applied: z.boolean().describe('Whether the rule had an effect'),
        why: z.string().describe('Why it did or did not'),
      }),
    )
    .readonly()
    .describe('Every rule, in the order of evaluation'),
})

export type Tested = z.output<typeof testedShape>

export const testPolicy = defineOperation({
  name: 'test_policy',
  title: 'Test policies',
  description:
    'For admins: what the current rules, or rules that you send, would decide about a task or tool call, and why. Nothing is created. considered lists every rule with its effect.',
  input: z.strictObject({
    context: testedContext,
    rules: z
      .array(writtenRule)
      .max(MAX_TESTED)
      .optional()
      .describe('Rules to test instead of the current ones'),
    patterns: z
      .array(writtenPattern)
      .max(MAX_TESTED)
      .optional()
      .describe('Redaction patterns that these rules may name, besides the current ones'),
  }),
  normalize: withoutNullsInLists,
  output: testedShape,
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/policies/test' },
  effect: READS,
  example: { context: { type: 'buy', args: { amount: 500 } } },
  async run({ engine, policies, upstreams }, caller, { context: given, rules, patterns = [] }) {
    canonical(given.args ?? {}, 'context.args')
    canonical(given.inputs ?? {}, 'context.inputs')
    const tenant = await engine.tenant(caller.tenant)
    const copy = await policies.refresh(tenant.tenant)
    const book =
      rules === undefined
        ? copy.book
        : await bookOf(policies.parts, copy, rules.map(ruleOf), patterns.map(patternOf))
    const context = contextOf(upstreams, tenant, caller, given)
    const { ruling, considered } = book.explain(context)
    const { value, fields } = ruling.redactArgs(context.args)
    return {
      action: ruling.action,
      rule_id: ruling.rule_id,
      reason: ruling.reason,
      approve_by: ruling.approve_by,
      args: value,
      redacted_fields: fields,
      redacts_result: book.redactsResultOf(context),
      considered,
    }
  },
})

/** Null means absent in the rules and patterns to be tested, as it does in put_policy. */
function withoutNullsInLists(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input
  const clean = (list: unknown) => (Array.isArray(list) ? list.map(withoutNulls) : list)
  return {
    ...input,
    ...('rules' in input && { rules: clean(input.rules) }),
    ...('patterns' in input && { patterns: clean(input.patterns) }),
  }
}

/** Compiles the given rules with the current patterns; given patterns take precedence. */
export async function bookOf(
  parts: CopyParts,
  { patterns }: PolicyCopy,
  rules: readonly RuleDraft[],
  given: readonly PatternDraft[],
): Promise<RuleBook> {
  for (const pattern of given) await checkPattern(pattern)
  const isGiven = (name: string) => given.some((pattern) => pattern.name === name)
  for (const [i, rule] of rules.entries()) {
    if (rules.findIndex(({ id }) => id === rule.id) !== i) throw invalid(`rules.${i}.id`, 'is used twice')
    checkRule(rule, (name) => patterns.has(name) || isGiven(name), `rules.${i}.`)
  }
  const own = [...patterns.values()]
    .map(({ view }) => view)
    .filter(({ source, name }) => source !== 'built_in' && !isGiven(name))
  const fixed = { rules, patterns: [...given, ...own] }
  const { book } = await copyOf({ ...parts, fixed }, [], [], undefined)
  return book
}

function contextOf(
  upstreams: TenantUpstreams | undefined,
  tenant: TenantRef,
  caller: Caller,
  given: z.output<typeof testedContext>,
): PolicyContext {
  const { upstream, tool, principal, agent, session, args } = given
  const { inputs, body, payload_pointer, requirements } = given
  const isCall = tool !== undefined || upstream !== undefined
  const type = given.type ?? (isCall ? TOOL_CALL : undefined)
  if (type === undefined) throw invalid('context.type', 'is required, unless a tool is given')
  if (isCall && type !== TOOL_CALL) throw invalid('context.type', `must be ${TOOL_CALL} for an upstream tool`)
  const who = principal === undefined ? principalKey(caller.principal) : principalFrom(principal)
  const called =
    type === TOOL_CALL ? { upstream: upstream ?? '', tool: tool ?? '' } : { upstream: null, tool: null }
  const known =
    called.tool === null ? null : categoryOf(upstreams, tenant.tenant, called.upstream, called.tool)
  return {
    type,
    ...called,
    category: given.category ?? known,
    agent: agent ?? who.slice(who.indexOf(':') + 1),
    principal: who,
    tenant: tenant.name,
    session: session ?? null,
    args: args ?? {},
    inputs,
    body,
    payload_pointer,
    requirements,
    elsewhere: called.tool === null && payload_pointer !== undefined,
  }
}

function principalFrom(text: string): PrincipalKey {
  const full = principalOf(text)
  const colon = full.indexOf(':')
  const [kind, id] = [full.slice(0, colon), full.slice(colon + 1)]
  if (!isPrincipalKind(kind) || id === '')
    throw invalid('context.principal', 'is not kind:id or the id of an agent')
  return `${kind}:${id}`
}
