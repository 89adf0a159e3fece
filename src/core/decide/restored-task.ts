import { isObject } from '../../util/guards.ts'
import type { Restore, RestoredTask } from '../command.ts'
import type { Draft } from '../draft.ts'
import { type CanonicalJson, canonical, type Json, parseCanonical } from '../json/json.ts'
import { EVERYONE, nextRank } from '../matching.ts'
import { parsePrincipalKey } from '../principal.ts'
import type { Receipt } from '../receipt.ts'
import { asQueued, type QueuedTask, type TaskCore } from '../task.ts'

/** What the body of a receipt says. The body of an erased receipt says nothing about its task. */
export type Said = Readonly<Record<string, unknown>>

export function requeued(
  task: TaskCore,
  { created_at }: Receipt,
  change: Partial<Pick<QueuedTask, 'attempt' | 'expiry_count' | 'next_eligible_at'>>,
): QueuedTask {
  const { attempt, expiry_count } = task
  return asQueued(task, {
    ...{ status: 'queued', attempt, expiry_count, next_eligible_at: null, updated_at: created_at },
    ...change,
  })
}

/** What is assumed of a task about which only its receipts are known. */
function unknownTask({ to }: Receipt): RestoredTask {
  return {
    ...{ type: UNKNOWN_TYPE, priority: 0, session_id: null, labels: null, idempotency_key: null },
    ...{ input: canonical({ type: UNKNOWN_TYPE }), policy: null, principal_ai: parsePrincipalKey(to).id },
    ...{ max_attempts: 1, max_expiries: 1, retry_backoff_seconds: 0, timeout_seconds: null },
    ...{ deadline_at: null, retention_days: null, escalation_class: null, scheduling: null },
    ...{ capabilities: [], delay_ms: 0 },
  }
}

const UNKNOWN_TYPE = 'unknown'

/** The task of an assignment, as it was created. */
export function newTask(draft: Draft, { receipt, contents }: Restore): QueuedTask {
  const { world } = draft
  const { tenant, seq, created_at, to: owner } = receipt
  const task_id = receipt.task_id ?? ''
  const known = contents.task ?? unknownTask(receipt)
  const { type, priority, session_id, labels, idempotency_key, input, policy } = known
  const spec = { tenant, task_id, seq, owner, created_at, instance: receipt.instance }
  draft.spec({ ...spec, type, priority, session_id, labels, idempotency_key, input, policy })
  const queue = world.owner(world.settings.claim_order === 'fifo' ? EVERYONE : owner)
  return {
    ...{ tenant, task_id, seq, owner, status: 'queued' },
    ...world.lane(type, known.capabilities, priority, owner),
    rank: nextRank(world.tenant.clock, queue),
    principal_ai: known.principal_ai,
    max_attempts: known.max_attempts,
    max_expiries: known.max_expiries,
    retry_backoff_seconds: known.retry_backoff_seconds,
    timeout_seconds: known.timeout_seconds,
    deadline_at: known.deadline_at,
    retention_days: known.retention_days,
    escalation_class: known.escalation_class,
    scheduling: known.scheduling,
    ...{ attempt: 0, expiry_count: 0, fence: 0, progress_count: 0, question_count: 0 },
    input_length: input.length,
    flow: null,
    updated_at: created_at,
    next_eligible_at: known.delay_ms > 0 ? created_at + known.delay_ms : null,
  }
}

export function saidBy({ body, erased }: Receipt): Said {
  const said: Json = erased ? null : parseCanonical(body)
  return isObject(said) ? said : {}
}

export function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function timeIn(value: unknown): number | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : time
}

export function textOf(value: unknown): CanonicalJson | null {
  return value === undefined || value === null ? null : canonical(value)
}
