import fc from 'fast-check'
import { PERMISSIONS } from '../../src/core/authorization.ts'
import type { Json } from '../../src/core/json/json.ts'
import { findOperation, OPERATIONS } from '../../src/features/catalogue.ts'
import { inputSchema, type Operation } from '../../src/features/define-operation.ts'
import { SEEN } from '../equivalence/upstream-steps.ts'
import { mutation } from './mutate.ts'
import { type ByName, fittingObject, type JsonFields, often, readSchema, type Schema } from './schema.ts'

export interface FuzzRequest {
  readonly protocol: 'REST' | 'MCP'
  readonly operation: Operation
  /** Texts such as `$task 3` stand for an id from an earlier response. */
  readonly input: JsonFields
}

/** A request, or an advance of the clock so that leases expire and delays end. */
export type Action = FuzzRequest | { readonly seconds: number }

const known = (kind: string) => fc.nat({ max: 12 }).map((n): Json => `$${kind} ${n}`)
/** One of the newest, which is likely to be undecided. */
const newest = (kind: string) => fc.nat({ max: 2 }).map((n): Json => `$${kind} ${n}`)
const of = (...values: Json[]) => fc.constantFrom(...values)
const nowhere = of('00000000-0000-7000-8000-000000000000', 'none')
const types = of('a', 'b', 'c')
const waits = of(0, 0.002)
const pages = of(1, 2, 3, 50, 200)

/** Few values for shared fields, so that requests affect the same objects. */
const NAMES: ByName = {
  task_id: often(known('task'), nowhere),
  task_ids: fc.array(often(known('task'), nowhere), { minLength: 1, maxLength: 3 }),
  lease_id: often(known('lease'), nowhere),
  worker_id: of('w1', 'w2'),
  receipt_id: often(known('receipt'), nowhere),
  from_size: of(0, 1, 2, 5, 100, -1),
  schedule_id: often(known('schedule'), nowhere),
  next_run_at: of('2025-12-31T23:00:00.000Z', '2025-12-31T23:30:00Z', '2999-01-01T00:00:00Z'),
  since_receipt_id: often(known('receipt'), nowhere),
  caused_by_receipt_id: often(known('receipt'), nowhere),
  parent_task_id: known('task'),
  cursor: often(known('cursor'), nowhere),
  email_id: often(known('email'), nowhere),
  key_id: often(known('key'), nowhere),
  client_id: often(known('client'), nowhere),
  identity_id: often(known('identity'), nowhere),
  bulk_id: often(known('bulk'), nowhere),
  redirect_uris: often(of(['https://app.example/callback']), of(['http://app.example/'], [])),
  to: often(of('gate+alice@agents.example', 'gate+bob@agents.example'), of('x@y.example', 'a\r\nb@c')),
  subject: often(of('né', 'A note'), of('a\nb')),
  attachments: often(of([], [{ filename: 'a.txt', content: 'aGk=' }]), of([{ filename: 'a', content: '?' }])),
  principal_id: of('alice', 'bob'),
  to_id: of('alice', 'bob'),
  created_by: of('alice', 'agent:alice', 'agent:bob', 'human:root', 'ghost:x'),
  principal_ai: of('alice', 'bob'),
  idempotency_key: of('k1', 'k2', 'k3', 'k4'),
  session_id: of('s1', 's2'),
  type: types,
  accept_types: fc.array(types, { maxLength: 3 }),
  preferred_types: fc.array(types, { maxLength: 2 }),
  capabilities: fc.array(of('python', 'gpu', 'GPU '), { maxLength: 2 }),
  requirements: fc.record({ capabilities: fc.array(of('python', 'gpu'), { maxLength: 1 }) }),
  labels: fc.dictionary(fc.constantFrom('team', 'n'), fc.constantFrom('1', 'search'), {
    noNullPrototype: true,
  }),
  progress: fc.record({ percent: of(0, 50, 100, 33.3), message: of('on it', 'né') }),
  delay_seconds: of(0, 1, 60),
  timeout_seconds: of(1, 60, 3600),
  lease_ttl_seconds: of(1, 30, 300, 31_536_000),
  max_attempts: of(1, 2, 3),
  max_expiries: of(1, 2),
  retry_after_seconds: of(0, 10),
  result: of(null, 1, 'done', { n: 1 }),
  artifacts: of([], [{ url: 'https://results.example/1' }], { pointer: 'depot://1' }),
  inputs: of({}, { language: 'python' }),
  error: of({}, { message: 'no luck', code: 'E' }),
  completion_metadata: of({}, { ms: 12 }),
  // Another channel that is not configured would be reported to the operator.
  result_channel: of('inline'),
  payload_schema: of({}, { type: 'object' }, { type: 'string', pattern: '^a' }),
  // Permanently disabled types and workers would leave little to test.
  enabled: of(true, true, true, false),
  drain: of(false, false, false, true),
  content: of('red', { colour: 'red' }, 1),
  remember_until: often(of('2999-01-01T00:00:00Z'), of('2020-01-01T00:00:00Z', 'Friday')),
  expires_in_seconds: of(1, 60, 3600),
  n: often(of(1), of(2, 9)),
  wait_seconds: waits,
  limit: pages,
  max_items: pages,
}

/** The values of fields whose name has a different meaning in these operations. */
const OWN_NAMES: Readonly<Record<string, ByName>> = {
  add_upstream: {
    name: often(of('wiki', 'other'), of('Wiki', 'a__b')),
    transport: often(
      of({ type: 'http', url: 'https://wiki.example/mcp' }),
      of({ type: 'http', url: 'https://127.0.0.1/' }, { type: 'stdio', command: 'sh' }),
    ),
    tools: of({}, { deny: ['s*'] }),
    categories: of({}, { search: 'reading' }),
  },
  get_session: { session_id: often(of('bobs', 'alices'), of('none')) },
  set_session: {
    session_id: often(of('bobs', 'alices'), of('none')),
    workers: of(1, 5, 0),
    queue: of(1, 100),
  },
  end_session: { session_id: often(of('bobs'), of('none')), mode: of('run', 'cancel') },
  export_principal: {
    kind: of('human', 'agent'),
    id: of('alice', 'paul'),
    cursor: of('identity:', 'task:', 'receipt:', 'x'),
  },
  put_identity: {
    email: often(of('ann@example.com', 'bob@example.com', 'carol@example.com'), of('ann')),
    issuer: often(of(null), of('https://id.example')),
    subject: often(of(null), of('user-1')),
    principal: often(of({ kind: 'human', id: 'ann' }), of({ kind: 'agent', id: 'ann' })),
    role: of('viewer', 'operator', 'admin'),
    scopes: often(of(null), of(['tasks:read'])),
  },
  // Most of the time it is a principal without tasks, so that the others have some.
  erase_principal: { kind: of('human', 'agent'), id: of('paul', 'paul', 'paul', 'alice') },
  get_erasure: { kind: of('human', 'agent'), id: of('paul', 'alice') },
  ask: {
    kind: of('approval', 'input'),
    request: often(
      of({ title: 'May it?' }, { message: 'Which?' }, { message: 'Which?', schema: { type: 'string' } }),
      of({}, { title: 'x', message: 'y' }, { message: 'x', schema: { type: 'x' } }),
    ),
  },
  approve: { task_id: often(newest('approval_task'), known('task')) },
  deny: { task_id: often(newest('approval_task'), known('task')) },
  get_approval: { task_id: often(known('approval_task'), nowhere) },
  answer_question: { task_id: often(newest('input_task'), known('task')) },
  fetch_task_email: { task_id: often(known('mailed_task'), known('task')) },
  cancel_task: { task_id: often(known('held_task'), known('task')) },
  get_upstream: { name: of('wiki', 'other', 'none') },
  remove_upstream: { name: of('other', 'none') },
  put_policy: {
    id: often(of('r1', 'r2'), of('default', 'a/b')),
    // Rules that block everything or always require approval would leave little to test.
    action: of(
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'ALLOW',
      'REQUIRE_APPROVAL',
      'BLOCK',
      'REDACT',
    ),
    scope: often(of({ type: 'c' }, { tool: 'x*' }), of({ tools: 'x' })),
    condition: often(of(null, { '==': [{ var: 'args.n' }, 1] }), of({ log: 1 }, { '>': [1] }, 'x')),
    redact: often(
      of(null, null, { targets: 'both', patterns: ['email'] }),
      of({ targets: 'args', paths: ['$'] }),
    ),
    approves: of(null, null, '*'),
    approval_expires_in_seconds: of(null, null, 60),
    expires_at: of(null, '2999-01-01T00:00:00Z'),
  },
  // Low limits would leave little to test.
  set_limits: {
    tier: of(null, 'enterprise'),
    tenant: of('guest'),
    quotas: often(of({}, { max_active_tasks: 10_000 }), of({ max_tasks: 1 })),
    principal: often(of('agent:alice'), of('alice')),
    bypass: often(of(null, { reason: 'test' }), of({ reason: '' })),
  },
  get_history: { tenant: often(of('guest'), of('')) },
  get_usage: { tenant: often(of('guest'), of('')) },
  get_limits: { tenant: often(of('guest'), of('')) },
  get_policy: { id: of('r1', 'r2', 'none') },
  remove_policy: { id: of('r1', 'r2', 'none') },
  test_policy: {
    context: often(of({ type: 'c' }, { tool: 'x', args: { n: 1 } }), of({}, { type: 'c', args: [[[]]] })),
    rules: often(of([], [{ id: 'r', action: 'ALLOW' }]), of([{ id: 'r' }])),
  },
  put_redaction_pattern: {
    name: often(of('plate'), of('email', 'No')),
    pattern: often(of('[A-Z]{2}-\\d+', '(a+)+$'), of('(', 'a*', '(?=a)')),
  },
  remove_redaction_pattern: { name: of('plate', 'email', 'none') },
  accept_upstream_tool: {
    name: often(of('wiki'), of('other', 'none')),
    tool: often(of(SEEN.tool), of('find')),
    hash: often(of(SEEN.offered?.hash ?? ''), of('0'.repeat(64), 'none')),
  },
}

/** The list fields that contain inputs of another operation. */
const ITEMS: Readonly<Record<string, { readonly list: string; readonly of: string }>> = {
  create_tasks: { list: 'tasks', of: 'create_task' },
  complete_many: { list: 'items', of: 'complete' },
  renew_many: { list: 'items', of: 'renew_lease' },
}

const WHO: Readonly<Record<Operation['actor'], fc.Arbitrary<JsonFields>>> = {
  agent: who(),
  anyone: who(),
  worker: often(fc.constant<JsonFields>({}), fc.constant({ worker_kind: 'service' })),
}

/** Operations that the requester of a task may not call. */
const DECISIONS: ReadonlySet<string> = new Set(['approve', 'deny'])
const admin = fc.constant<JsonFields>({ principal_kind: 'human', principal_id: 'root' })
const person = fc.constant<JsonFields>({ principal_kind: 'human', principal_id: 'paul' })

function who(): fc.Arbitrary<JsonFields> {
  return often(
    fc.constantFrom(
      { principal_id: 'alice' },
      { agent_id: 'bob' },
      { principal_kind: 'human', principal_id: 'root' },
    ),
    fc.constantFrom<JsonFields[]>(
      {},
      { principal_kind: 'worker', principal_id: 'w1' },
      { tenant_id: 'other' },
    ),
  )
}

function inputOf(operation: Operation): fc.Arbitrary<JsonFields> {
  const fitting = fittingObject(schemaOf(operation), namesFor(operation))
  return fc.tuple(fitting, callerOf(operation), fc.nat({ max: 12 })).map(([input, who, n]) => {
    const own = 'lease_id' in input && 'worker_id' in input
    // Mostly a lease with its own task and holder, since other combinations are refused early.
    return {
      ...input,
      ...who,
      ...(own && n < 10 && holderOf(n % 4)),
      ...scheduleOf(input, n),
    }
  })
}

/** Mostly a caller whose role allows the operation. */
function callerOf({ name, access, actor }: Operation): fc.Arbitrary<JsonFields> {
  if (DECISIONS.has(name)) return often(person, WHO.agent)
  return actor !== 'worker' && !PERMISSIONS[access].roles.includes('agent')
    ? often(admin, WHO.agent)
    : WHO[actor]
}

/** A created schedule mostly has the id of its task. */
function scheduleOf(input: JsonFields, n: number): JsonFields {
  return input.event === 'created' && n < 10 ? { schedule_id: `$held_task ${n % 4}` } : {}
}

function holderOf(n: number): JsonFields {
  return { task_id: `$held_task ${n}`, lease_id: `$lease ${n}`, worker_id: `$holder ${n}` }
}

/** Requests that create a schedule, which random requests hardly ever do. */
export function scheduleRequests(): FuzzRequest[] {
  const task_template = { type: 'tick' }
  const payload = { name: 'often', mode: 'interval', interval_seconds: 60, task_template }
  const request = (name: string, input: JsonFields): FuzzRequest[] => {
    const operation = findOperation(name)
    return operation === undefined ? [] : [{ protocol: 'REST', operation, input }]
  }
  return [
    ...request('create_task', { principal_id: 'alice', type: 'schedule.create', payload }),
    ...request('lease_next', { worker_id: 'w1' }),
    ...request('record_schedule', { ...holderOf(0), schedule_id: '$held_task 0', event: 'created' }),
  ]
}

function namesFor({ name }: Operation): ByName {
  const items = ITEMS[name]
  const item = items && findOperation(items.of)
  if (items === undefined || item === undefined) return { ...NAMES, ...OWN_NAMES[name] }
  const input = fc.oneof({ weight: 6, arbitrary: inputOf(item) }, { weight: 1, arbitrary: mutated(item) })
  return { ...NAMES, [items.list]: fc.array(input, { minLength: 1, maxLength: 4 }) }
}

function mutated(operation: Operation): fc.Arbitrary<JsonFields> {
  return fc.tuple(inputOf(operation), mutation(schemaOf(operation))).map(([input, mutate]) => mutate(input))
}

function schemaOf(operation: Operation): Schema {
  return readSchema(inputSchema(operation))
}

function requestsOf(operation: Operation): fc.Arbitrary<FuzzRequest> {
  return fc.record({
    protocol: fc.constantFrom('REST' as const, 'MCP' as const),
    operation: fc.constant(operation),
    input: fc.oneof(inputOf(operation), mutated(operation)),
  })
}

/** Operations on which others depend, and those that seldom find what they need, are more likely. */
const WEIGHTS: Readonly<Record<string, number>> = {
  create_task: 8,
  lease_next: 16,
  start_task: 2,
  renew_lease: 6,
  report_progress: 2,
  complete: 6,
  fail: 4,
  release_lease: 4,
  retry_task: 3,
  fetch_task_result: 5,
  archive_task_result: 5,
  promote_task_result: 8,
  mark_inbox: 8,
  record_schedule: 10,
  send_email: 3,
  add_upstream: 3,
  accept_upstream_tool: 3,
  fetch_task_email: 8,
  report_stale_schedule: 10,
  ask: 16,
  approve: 10,
  deny: 6,
  answer_question: 6,
  cancel_task: 3,
  report_cancel: 16,
  put_policy: 4,
  get_policy: 6,
  list_policies: 3,
  put_redaction_pattern: 4,
  remove_redaction_pattern: 4,
  get_session: 4,
  set_session: 8,
  get_task_type: 3,
  create_key: 2,
  rotate_key: 2,
  create_oauth_client: 3,
  remove_oauth_client: 3,
  put_identity: 5,
  remove_identity: 5,
}

const total = OPERATIONS.reduce((sum, { name }) => sum + weightOf(name), 0)

function weightOf(name: string): number {
  return WEIGHTS[name] ?? 1
}

/** Operations that succeed only after rare ones. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  report_cancel: ['lease_next', 'cancel_task'],
  get_approval: ['lease_next', 'ask'],
  approve: ['lease_next', 'ask'],
  deny: ['lease_next', 'ask'],
  answer_question: ['lease_next', 'ask'],
  fetch_task_result: ['lease_next', 'complete'],
  promote_task_result: ['lease_next', 'complete'],
}

/** Random actions. The named operations and what they need get half of them. */
export function actionsWith(named: readonly string[] = []): fc.Arbitrary<Action> {
  const favored = named.flatMap((name) => [name, ...(NEEDS[name] ?? [])])
  return fc.oneof(
    ...OPERATIONS.map((operation) => ({
      weight:
        weightOf(operation.name) + (favored.includes(operation.name) ? Math.ceil(total / favored.length) : 0),
      arbitrary: requestsOf(operation),
    })),
    { weight: 1, arbitrary: fc.record({ seconds: fc.constantFrom(0, 1, 1, 5, 30, 30, 130, 1000) }) },
  )
}
