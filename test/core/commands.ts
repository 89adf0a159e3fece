import { expect } from 'vitest'
import { body } from '../../src/core/bodies.ts'
import type {
  Acknowledge,
  Answer,
  Ask,
  Cancel,
  Claim,
  Complete,
  Create,
  Fail,
  Greet,
  MarkInbox,
  Progress,
  Reclaim,
  Reconcile,
  Record as RecordCommand,
  RecordSchedule,
  Release,
  Renew,
  ReportRefusal,
  ReportStale,
  Start,
  Wake,
} from '../../src/core/command.ts'
import type { Decision } from '../../src/core/draft.ts'
import { Fault } from '../../src/core/errors.ts'
import { type CanonicalJson, canonical, type JsonObject, parseCanonical } from '../../src/core/json/json.ts'
import type { Asked } from '../../src/core/question.ts'
import type { Receipt } from '../../src/core/receipt.ts'
import { ALICE, LEASE, NOW, TASK_ID } from '../support/fake-world.ts'

/** The fields of a call by the holder of LEASE. */
const HOLDS = {
  tenant: 1,
  task_id: TASK_ID,
  lease_id: LEASE.lease_id,
  holder: LEASE.holder,
  worker_id: LEASE.worker_id,
} as const

export const RESULT = canonical({ answer: 42 })
export const ARTIFACTS = canonical([{ url: 's3://bucket/key' }])

export const create = (changes: Partial<Create> = {}): Create => ({
  verb: 'create',
  tenant: 1,
  owner: ALICE,
  principal_ai: 'alice',
  type: 'render',
  capabilities: [],
  priority: 0,
  max_attempts: 2,
  max_expiries: 10,
  retry_backoff_seconds: 15,
  timeout_seconds: null,
  deadline_at: null,
  retention_days: null,
  escalation_class: null,
  scheduling: null,
  limit: null,
  rate: null,
  delay_ms: 0,
  session_id: null,
  labels: null,
  idempotency_key: null,
  caused_by: null,
  input: canonical({ type: 'render' }),
  question: null,
  policy: null,
  contract: body({
    created_by_instance_id: null,
    instructions: canonical('Execute task type: render'),
    requirements: canonical({}),
    result_delivery: canonical('return_payload'),
    success_criteria: null,
    timeouts: canonical({}),
  }),
  ...changes,
})

export const claim = (changes: Partial<Claim> = {}): Claim => ({
  verb: 'claim',
  expected_duration: null,
  tenant: 1,
  holder: LEASE.holder,
  worker_id: LEASE.worker_id,
  instance_id: null,
  capabilities: [],
  max_tasks: 1,
  ttl_ms: 120_000,
  ...changes,
})

export const reclaim = (changes: Partial<Reclaim> = {}): Reclaim => ({
  verb: 'reclaim',
  ...HOLDS,
  instance_id: 'i2',
  capabilities: [],
  ttl_ms: 120_000,
  expected_duration: null,
  ...changes,
})

export const start = (changes: Partial<Start> = {}): Start => ({ verb: 'start', ...HOLDS, ...changes })

export const renew = (changes: Partial<Renew> = {}): Renew => ({
  verb: 'renew',
  ...HOLDS,
  extend_ms: 120_000,
  ...changes,
})

export const reportRefusal = (changes: Partial<ReportRefusal> = {}): ReportRefusal => ({
  verb: 'report_refusal',
  tenant: 1,
  task_id: TASK_ID,
  asked: 1,
  call: 'complete',
  by: 'worker:late',
  worker_id: 'late',
  ...changes,
})

export const release = (changes: Partial<Release> = {}): Release => ({
  verb: 'release',
  ...HOLDS,
  ...changes,
})

export const progress = (changes: Partial<Progress> = {}): Progress => ({
  verb: 'progress',
  milestone: false,
  ...HOLDS,
  progress: canonical({ percent: 50 }),
  extend_ms: null,
  ...changes,
})

export const complete = (changes: Partial<Complete> = {}): Complete => ({
  verb: 'complete',
  ...HOLDS,
  result: RESULT,
  artifacts: ARTIFACTS,
  delivery_proof: null,
  result_summary: null,
  completion_metadata: canonical({}),
  ...changes,
})

export const reconcile = (changes: Partial<Reconcile> = {}): Reconcile => ({
  ...{ verb: 'reconcile', tenant: 1, task_id: TASK_ID, holder: 'worker:w1' },
  outcome: {
    ...{ kind: 'succeeded', result: RESULT, artifacts: canonical([{ pointer: 'receiptgate:1' }]) },
    ...{ result_summary: null, completion_metadata: canonical({}) },
  },
  ...changes,
})

export const fail = (changes: Partial<Fail> = {}): Fail => ({
  verb: 'fail',
  ...HOLDS,
  error: canonical({ code: 'BROKEN' }),
  retryable: true,
  retry_after_ms: null,
  ...changes,
})

export const APPROVAL: Asked = {
  kind: 'approval',
  expires_in_ms: null,
  request: canonical({ title: 'Send the mail?' }),
  content_hash: 'sha256:a',
}

export const INPUT: Asked = {
  kind: 'input',
  expires_in_ms: null,
  request: canonical({ message: 'Which colour?' }),
  content_hash: 'sha256:b',
}

export const ask = (changes: Partial<Ask> = {}): Ask => ({
  verb: 'ask',
  ...HOLDS,
  question: APPROVAL,
  ...changes,
})

const answering = {
  verb: 'answer',
  tenant: 1,
  task_id: TASK_ID,
  n: 1,
  reason: null,
  content_hash: null,
} as const

export const approve = (changes: Partial<Answer> = {}): Answer => ({
  ...answering,
  decision: 'approve',
  by: 'human:root',
  role: 'admin',
  answer: canonical({}),
  ...changes,
})

export const deny = (changes: Partial<Answer> = {}): Answer => ({
  ...answering,
  decision: 'deny',
  by: 'human:root',
  role: 'admin',
  reason: 'Not today.',
  answer: canonical({ reason: 'Not today.' }),
  ...changes,
})

/** The owner's answer to a question for input. */
export const answer = (changes: Partial<Answer> = {}): Answer => ({
  ...answering,
  decision: 'answer',
  by: ALICE,
  role: 'agent',
  answer: canonical({ content: 'blue' }),
  ...changes,
})

/** A change that is not about a task: alice changed a rule. */
export const record = (changes: Partial<RecordCommand> = {}): RecordCommand => ({
  verb: 'record',
  tenant: 1,
  type: 'policy.changed',
  from: ALICE,
  to: 'service:asyncgate',
  body: body({
    what: canonical('rule'),
    id: canonical('r'),
    change: canonical('removed'),
    before: canonical({ id: 'r' }),
    after: null,
  }),
  ...changes,
})

export const blocked = (changes: Partial<Create> = {}): Create =>
  create({
    policy: canonical({ action: 'BLOCK', rule_id: 'r', reason: 'No.' }),
    block: {
      rule_id: 'r',
      reason: 'No.',
      body: body({
        type: canonical('render'),
        upstream: null,
        tool: null,
        session_id: null,
        rule_id: canonical('r'),
        reason: canonical('No.'),
        args_hash: canonical('sha256:0'),
      }),
    },
    ...changes,
  })

export const upstreamChanged = (): RecordCommand =>
  record({
    type: 'upstream.changed',
    body: body({
      name: canonical('wiki'),
      change: canonical('accepted'),
      tool: canonical('search'),
      before: null,
      after: canonical('0'),
    }),
  })

export const cancel = (changes: Partial<Cancel> = {}): Cancel => ({
  verb: 'cancel',
  tenant: 1,
  task_id: TASK_ID,
  by: ALICE,
  role: 'agent',
  reason: null,
  ...changes,
})

export const wake = (task_id = TASK_ID): Wake => ({ verb: 'wake', tenant: 1, task_id })

export const acknowledge = (changes: Partial<Acknowledge> = {}): Acknowledge => ({
  verb: 'acknowledge',
  tenant: 1,
  seq: 1,
  by: ALICE,
  role: 'agent',
  ...changes,
})

export const recordSchedule = (changes: Partial<RecordSchedule> = {}): RecordSchedule => ({
  verb: 'record_schedule',
  ...HOLDS,
  event: 'created',
  schedule_id: TASK_ID,
  asked: 1,
  created: null,
  schedule: canonical({ name: 'nightly' }),
  ...changes,
})

export const reportStale = (changes: Partial<ReportStale> = {}): ReportStale => ({
  verb: 'report_stale',
  tenant: 1,
  by: LEASE.holder,
  role: 'worker',
  schedule_id: TASK_ID,
  asked: 1,
  created: 2,
  next_run_at: NOW - 60_000,
  reason: 'QUOTA_EXCEEDED',
  ...changes,
})

export const greet = (changes: Partial<Greet> = {}): Greet => ({
  verb: 'greet',
  tenant: 1,
  principal: ALICE,
  instance_id: null,
  agent_version: null,
  client_capabilities: null,
  delivered: [],
  ...changes,
})

export const mark = (changes: Partial<MarkInbox> = {}): MarkInbox => ({
  verb: 'mark',
  tenant: 1,
  by: ALICE,
  role: 'agent',
  as: 'read',
  items: [],
  ...changes,
})

/** The fault that the decision returns. */
export function faultOf(decision: Decision<unknown>): Fault {
  if (decision.answer instanceof Fault) return decision.answer
  throw new Error(`The command was not refused: ${JSON.stringify(decision.answer)}`)
}

/** The only task that a decision changes. */
export function onlyTask(decision: Decision<unknown>) {
  expect(decision.tasks).toHaveLength(1)
  const [task] = decision.tasks
  if (task === undefined) throw new Error('no task')
  return task
}

export function receiptTypes(decision: Decision<unknown>): string[] {
  return decision.receipts.map((receipt) => receipt.receipt_type)
}

/** The only receipt of this type. */
export function receiptOf(decision: Decision<unknown>, type: Receipt['receipt_type']): Receipt {
  const found = decision.receipts.filter((receipt) => receipt.receipt_type === type)
  expect(found).toHaveLength(1)
  const [receipt] = found
  if (receipt === undefined) throw new Error(`no ${type}`)
  return receipt
}

export function bodyOf(receipt: { readonly body: CanonicalJson }): JsonObject {
  return parseCanonical(receipt.body) as JsonObject
}

export function anomalyKinds(decision: Decision<unknown>): unknown[] {
  return decision.receipts
    .filter((receipt) => receipt.receipt_type === 'system.anomaly')
    .map((receipt) => bodyOf(receipt).kind)
}

/** Expects that nothing is changed or written, regardless of the response. */
export function expectNoChange(decision: Decision<unknown>): void {
  expect({ ...decision, answer: null }).toEqual({
    answer: null,
    tasks: [],
    spec: null,
    receipts: [],
    opened: [],
    closed: [],
    progress: null,
    questions: [],
    relationship: null,
    filed: [],
    marked: [],
    flow: null,
  })
}
