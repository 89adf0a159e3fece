import { z } from 'zod'
import { parsePrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { readRecords } from '../../engine/portions.ts'
import { type RuleDraft, ruleOf, writtenRule } from '../../policy/rule.ts'
import type { RuleBook } from '../../policy/rule-book.ts'
import { ACTIONS, type PolicyContext } from '../../policy/ruling.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { principalShape, time, withoutNulls } from '../input.ts'
import { findTasks } from '../tasks/search/scan.ts'
import { searchFor } from '../tasks/search/search.ts'
import { inputOf } from '../tasks/task-input.ts'
import type { TenantUpstreams } from '../upstreams/upstreams.ts'
import { policyContext } from './context.ts'
import type { PolicyCopy } from './copy.ts'
import { checkRule } from './shape.ts'
import { bookOf } from './test-policy.ts'

const MAX_EXAMINED = 500

/** Contexts between two turns of the event loop. */
const PER_TURN = 50

const decided = z.object({
  action: z.enum(ACTIONS).describe('What the rules decide'),
  rule_id: z.string().nullable().describe('The rule that decides; null: the default action'),
  reason: z.string().describe('Why, in words'),
})

const changedShape = z.object({
  task_id: z.string().describe('Id of the task'),
  type: z.string().describe('Type of the task'),
  upstream: z.string().nullable().describe('The upstream of a tool call; null for other tasks'),
  tool: z.string().nullable().describe('The tool of a tool call; null for other tasks'),
  created_by: principalShape.describe('Owner of the task'),
  created_at: time.describe('Time of creation'),
  before: decided.describe('With the current rules'),
  after: decided.describe('With the rule'),
})

export type PolicyChange = z.output<typeof changedShape>

export const previewPolicy = defineOperation({
  name: 'preview_policy',
  title: 'Preview a policy rule',
  description:
    'For operators: what a new or changed rule would have decided about the newest tasks and tool calls, compared with the current rules. Nothing is stored or created. ' +
    'Tasks are evaluated as they are stored: what was redacted is no longer known.',
  input: z.strictObject({
    rule: writtenRule.describe('The rule, as for put_policy. It replaces the current one with the same id'),
    limit: z.int().min(1).max(MAX_EXAMINED).default(200).describe('Number of newest tasks to examine'),
  }),
  normalize: withoutNullsInRule,
  output: z.object({
    examined: z.int().describe('Number of tasks that were examined'),
    changed: z
      .array(changedShape)
      .readonly()
      .describe('The tasks about which the rules would have decided otherwise, newest first'),
  }),
  access: 'inspect',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/policies/preview' },
  effect: READS,
  example: { rule: { id: 'spending', action: 'REQUIRE_APPROVAL', scope: { type: 'buy' } }, limit: 100 },
  async run({ engine, policies, upstreams }, caller, { rule, limit }) {
    const tenant = await engine.tenant(caller.tenant)
    const copy = await policies.refresh(tenant.tenant)
    const draft = ruleOf(rule)
    checkRule(draft, (name) => copy.patterns.has(name), 'rule.')
    const after = await bookOf(policies.parts, copy, withRule(copy, draft), [])
    const { lines } = await findTasks(engine, tenant.tenant, searchFor({}, 0), Number.MAX_SAFE_INTEGER, limit)
    const { rows } = await readRecords(engine, tenant.tenant, lines)
    const changed: PolicyChange[] = []
    for (const [i, record] of rows.entries()) {
      if (i % PER_TURN === PER_TURN - 1) await nextTurn()
      const change = compare(copy.book, after, contextOf(upstreams, tenant, record))
      if (change !== undefined) changed.push({ ...describe(record), ...change })
    }
    return { examined: rows.length, changed }
  },
})

/** Null means absent, as it does in put_policy. */
function withoutNullsInRule(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('rule' in input)) return input
  return { ...input, rule: withoutNulls(input.rule) }
}

/** The current rules with this one. */
function withRule({ rules }: PolicyCopy, draft: RuleDraft): RuleDraft[] {
  const others = [...rules.values()].map(({ view }) => view).filter(({ id }) => id !== draft.id)
  return [
    ...others.map(({ source: _, version: __, updated_at: ___, updated_by: ____, ...rule }) => rule),
    draft,
  ]
}

function contextOf(
  upstreams: TenantUpstreams | undefined,
  tenant: TenantRef,
  { task, spec }: TaskRecord,
): PolicyContext {
  const input = inputOf(spec.input)
  return policyContext(upstreams, tenant, {
    type: spec.type,
    input,
    payload: input.payload,
    session_id: spec.session_id,
    principal_ai: task.principal_ai,
    principal: task.owner,
  })
}

/** Undefined if both rule books decide the same. */
function compare(
  before: RuleBook,
  after: RuleBook,
  context: PolicyContext,
): Pick<PolicyChange, 'before' | 'after' | 'upstream' | 'tool'> | undefined {
  const [was, is] = [decisionOf(before, context), decisionOf(after, context)]
  if (was.action === is.action && was.rule_id === is.rule_id) return undefined
  return { before: was, after: is, upstream: context.upstream, tool: context.tool }
}

function decisionOf(book: RuleBook, context: PolicyContext): z.output<typeof decided> {
  const { action, rule_id, reason } = book.rule(context)
  return { action, rule_id, reason }
}

function describe({ task, spec }: TaskRecord) {
  return {
    task_id: task.task_id,
    type: spec.type,
    created_by: parsePrincipalKey(task.owner),
    created_at: isoTime(spec.created_at),
  }
}
