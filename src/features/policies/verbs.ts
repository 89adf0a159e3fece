import { checkRole } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { type Caller, isPrincipalKind, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { type PatternDraft, patternOf } from '../../policy/pattern.ts'
import { principalOf, type RuleDraft, ruleOf } from '../../policy/rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, withoutNulls } from '../input.ts'
import type { Services } from '../services.ts'
import { TOOL_CALL } from '../sessions/tool-calls.ts'
import { categoryOf } from './context.ts'
import { copyOf, type PolicyCopy } from './copy.ts'
import type { PolicyContext } from './policies.ts'
import {
  checkPattern,
  checkRule,
  listPatternsInput,
  listPoliciesInput,
  type PatternView,
  type PolicyView,
  patternInput,
  policyInput,
  putPolicyInput,
  readPattern,
  type Tested,
  testPolicyInput,
} from './shape.ts'

/** In the order in which they are asked. */
export async function listPolicies(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{
  readonly policies: readonly PolicyView[]
  readonly defaults: { plain: string; upstream: string }
}> {
  checkRole(caller, 'manage')
  parse(listPoliciesInput, input)
  const { rules, book } = await copyFor(engine, caller)
  const policies = book.rules.flatMap(({ id }) => rules.get(id)?.view ?? [])
  return { policies, defaults: { ...engine.policies.parts.defaults } }
}

export async function getPolicy(engine: Services, caller: Caller, input: unknown): Promise<PolicyView> {
  checkRole(caller, 'manage')
  const { id } = parse(policyInput, input)
  const found = (await copyFor(engine, caller)).rules.get(id)
  if (found === undefined) throw new Fault('POLICY_NOT_FOUND', { id })
  return found.view
}

export async function putPolicy(engine: Services, caller: Caller, input: unknown): Promise<PolicyView> {
  checkRole(caller, 'manage')
  const draft = ruleOf(parse(putPolicyInput, withoutNulls(input)))
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.policies.putRule(tenant, draft, principalKey(caller.principal))
}

export async function removePolicy(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { id } = parse(policyInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return { id, removed: await engine.policies.removeRule(tenant, id, principalKey(caller.principal)) }
}

/** What the rules would say, without anything being done. */
export async function testPolicy(engine: Services, caller: Caller, input: unknown): Promise<Tested> {
  checkRole(caller, 'manage')
  const { context: asked, rules, patterns = [] } = parse(testPolicyInput, withPlainRules(input))
  canonical(asked.args ?? {}, 'context.args')
  canonical(asked.inputs ?? {}, 'context.inputs')
  const tenant = await engine.tenant(caller.tenant)
  const copy = await engine.policies.copy(tenant.tenant)
  const book =
    rules === undefined ? copy.book : await bookOf(engine, copy, rules.map(ruleOf), patterns.map(patternOf))
  const context = contextOf(engine, tenant, caller, asked)
  const { ruling, considered } = book.explain(context)
  const { value, fields } = ruling.redactArgs(context.args)
  return {
    action: ruling.action,
    rule_id: ruling.rule_id,
    reason: ruling.reason,
    args: value,
    redacted_fields: fields,
    redacts_result: book.redactsResultOf(context),
    considered,
  }
}

export async function listPatterns(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ readonly patterns: readonly PatternView[] }> {
  checkRole(caller, 'manage')
  parse(listPatternsInput, input)
  const { patterns } = await copyFor(engine, caller)
  return { patterns: [...patterns.values()].map(({ view }) => view) }
}

export async function putPattern(engine: Services, caller: Caller, input: unknown): Promise<PatternView> {
  checkRole(caller, 'manage')
  const draft = await readPattern(input)
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.policies.putPattern(tenant, draft, principalKey(caller.principal))
}

export async function removePattern(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { name } = parse(patternInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return { name, removed: await engine.policies.removePattern(tenant, name, principalKey(caller.principal)) }
}

async function copyFor(engine: Services, caller: Caller): Promise<PolicyCopy> {
  const { tenant } = await engine.tenant(caller.tenant)
  return engine.policies.copy(tenant)
}

/** These rules with the patterns that there are; those that are given come first. */
async function bookOf(
  engine: Services,
  { patterns }: PolicyCopy,
  rules: readonly RuleDraft[],
  given: readonly PatternDraft[],
): Promise<RuleBook> {
  for (const pattern of given) await checkPattern(pattern)
  const isGiven = (name: string) => given.some((pattern) => pattern.name === name)
  for (const [i, rule] of rules.entries()) {
    if (rules.findIndex(({ id }) => id === rule.id) !== i) throw invalid(`rules.${i}.id`, 'is there twice')
    checkRule(rule, (name) => patterns.has(name) || isGiven(name), `rules.${i}.`)
  }
  const own = [...patterns.values()]
    .map(({ view }) => view)
    .filter(({ source, name }) => source !== 'built_in' && !isGiven(name))
  const { book } = await copyOf(
    { ...engine.policies.parts, fixed: { rules, patterns: [...given, ...own] } },
    [],
    [],
    undefined,
  )
  return book
}

/** In rules to be tried, too, null is the same as absent. */
function withPlainRules(input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return input
  const plain = (list: unknown) => (Array.isArray(list) ? list.map(withoutNulls) : list)
  return {
    ...input,
    ...('rules' in input && { rules: plain(input.rules) }),
    ...('patterns' in input && { patterns: plain(input.patterns) }),
  }
}

type Asked = ReturnType<typeof testPolicyInput.parse>['context']

function contextOf(engine: Services, tenant: TenantRef, caller: Caller, asked: Asked): PolicyContext {
  const { upstream, tool, principal, agent, session, args } = asked
  const { inputs, body, payload_pointer, requirements } = asked
  const isCall = tool !== undefined || upstream !== undefined
  const type = asked.type ?? (isCall ? TOOL_CALL : undefined)
  if (type === undefined) throw invalid('context.type', 'is required, unless a tool is given')
  if (isCall && type !== TOOL_CALL) throw invalid('context.type', `is ${TOOL_CALL} for a tool of an upstream`)
  const who = principal === undefined ? principalKey(caller.principal) : principalFrom(principal)
  const called =
    type === TOOL_CALL ? { upstream: upstream ?? '', tool: tool ?? '' } : { upstream: null, tool: null }
  const known = called.tool === null ? null : categoryOf(engine, tenant.tenant, called.upstream, called.tool)
  return {
    type,
    ...called,
    category: asked.category ?? known,
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
  const whole = principalOf(text)
  const colon = whole.indexOf(':')
  const [kind, id] = [whole.slice(0, colon), whole.slice(colon + 1)]
  if (!isPrincipalKind(kind) || id === '')
    throw invalid('context.principal', 'is not kind:id or the id of an agent')
  return `${kind}:${id}`
}
