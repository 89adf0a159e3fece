import type { CanonicalJson } from '../core/json/json.ts'
import type { PrincipalKey } from '../core/principal.ts'
import {
  asDone,
  asHeld,
  asParked,
  asQueued,
  type DoneTask,
  isHeld,
  type OpenTask,
  type QueuedTask,
  type TaskCore,
  wakeAt,
} from '../core/task.ts'
import type { OpenStatus, TerminalStatus } from '../core/transitions.ts'

/** A row of `tasks`. Columns have the names of the fields; lease fields are null unless the task is held. */
export interface OpenRow extends TaskCore {
  readonly status: OpenStatus
  readonly wake_at: number | null
  readonly lease_id: string | null
  readonly holder: PrincipalKey | null
  readonly worker_id: string | null
  readonly instance_id: string | null
  readonly acquired_at: number | null
  readonly renewals: number | null
  readonly started_at: number | null
}

/** A row of `tasks_done`. */
export interface DoneRow extends TaskCore {
  readonly status: TerminalStatus
  readonly lease_id: string | null
  readonly holder: PrincipalKey | null
  readonly worker_id: string | null
  readonly started_at: number | null
  readonly completed_at: number
  readonly result: CanonicalJson | null
  readonly error: CanonicalJson | null
  readonly artifacts: CanonicalJson | null
  readonly delivery_proof: CanonicalJson | null
  readonly receipt_seq: number
  readonly obligation_open: boolean
  readonly dead_letter: boolean
}

const CORE_COLUMNS = [
  'tenant',
  'task_id',
  'seq',
  'lane',
  'pool',
  'rank',
  'owner',
  'principal_ai',
  'attempt',
  'max_attempts',
  'expiry_count',
  'max_expiries',
  'retry_backoff_seconds',
  'timeout_seconds',
  'deadline_at',
  'input_length',
  'fence',
  'progress_count',
  'question_count',
  'updated_at',
] as const satisfies readonly (keyof TaskCore)[]

export const OPEN_COLUMNS = [
  ...CORE_COLUMNS,
  'status',
  'wake_at',
  'lease_id',
  'holder',
  'worker_id',
  'instance_id',
  'acquired_at',
  'renewals',
  'started_at',
] as const satisfies readonly (keyof OpenRow)[]

/** The columns of `tasks` that a later command can change. */
export const CHANGING_COLUMNS = [
  'attempt',
  'expiry_count',
  'fence',
  'progress_count',
  'question_count',
  'updated_at',
  'status',
  'wake_at',
  'lease_id',
  'holder',
  'worker_id',
  'instance_id',
  'acquired_at',
  'renewals',
  'started_at',
] as const satisfies readonly (keyof OpenRow)[]

export const DONE_COLUMNS = [
  ...CORE_COLUMNS,
  'status',
  'lease_id',
  'holder',
  'worker_id',
  'started_at',
  'completed_at',
  'result',
  'error',
  'artifacts',
  'delivery_proof',
  'receipt_seq',
  'obligation_open',
  'dead_letter',
] as const satisfies readonly (keyof DoneRow)[]

// Each object below is one literal, as in core/task.ts.

export function openRow(task: OpenTask): OpenRow {
  const held = isHeld(task) ? task : null
  const lease = held === null ? null : held.lease
  return {
    tenant: task.tenant,
    task_id: task.task_id,
    seq: task.seq,
    lane: task.lane,
    pool: task.pool,
    rank: task.rank,
    owner: task.owner,
    principal_ai: task.principal_ai,
    attempt: task.attempt,
    max_attempts: task.max_attempts,
    expiry_count: task.expiry_count,
    max_expiries: task.max_expiries,
    retry_backoff_seconds: task.retry_backoff_seconds,
    timeout_seconds: task.timeout_seconds,
    deadline_at: task.deadline_at,
    input_length: task.input_length,
    fence: task.fence,
    progress_count: task.progress_count,
    question_count: task.question_count,
    updated_at: task.updated_at,
    status: task.status,
    wake_at: wakeAt(task),
    lease_id: lease?.lease_id ?? null,
    holder: lease?.holder ?? null,
    worker_id: lease?.worker_id ?? null,
    instance_id: lease?.instance_id ?? null,
    acquired_at: lease?.acquired_at ?? null,
    renewals: lease?.renewals ?? null,
    started_at: held === null ? null : held.started_at,
  }
}

export function openTask(row: OpenRow): OpenTask {
  if (row.status === 'queued') return queuedTask(row)
  if (row.status === 'pending_approval' || row.status === 'input_required') {
    const { question_count, updated_at, status, wake_at } = row
    return asParked(row, { question_count, updated_at, status, expires_at: wake_at })
  }
  const { lease_id, holder, worker_id, instance_id, acquired_at, renewals, wake_at } = row
  if (
    lease_id === null ||
    holder === null ||
    worker_id === null ||
    acquired_at === null ||
    renewals === null ||
    wake_at === null
  ) {
    throw new Error(`task ${row.task_id} is ${row.status} without a lease`)
  }
  return asHeld(row, {
    fence: row.fence,
    updated_at: row.updated_at,
    status: row.status,
    lease: { lease_id, holder, worker_id, instance_id, acquired_at, expires_at: wake_at, renewals },
    started_at: row.started_at,
  })
}

/** A row that is known to be queued. */
export function queuedTask(row: OpenRow): QueuedTask {
  return asQueued(row, {
    status: 'queued',
    attempt: row.attempt,
    expiry_count: row.expiry_count,
    updated_at: row.updated_at,
    next_eligible_at: row.wake_at,
  })
}

export function doneRow(task: DoneTask): DoneRow {
  const { lease, outcome } = task
  return {
    tenant: task.tenant,
    task_id: task.task_id,
    seq: task.seq,
    lane: task.lane,
    pool: task.pool,
    rank: task.rank,
    owner: task.owner,
    principal_ai: task.principal_ai,
    attempt: task.attempt,
    max_attempts: task.max_attempts,
    expiry_count: task.expiry_count,
    max_expiries: task.max_expiries,
    retry_backoff_seconds: task.retry_backoff_seconds,
    timeout_seconds: task.timeout_seconds,
    deadline_at: task.deadline_at,
    input_length: task.input_length,
    fence: task.fence,
    progress_count: task.progress_count,
    question_count: task.question_count,
    updated_at: task.updated_at,
    status: task.status,
    lease_id: lease?.lease_id ?? null,
    holder: lease?.holder ?? null,
    worker_id: lease?.worker_id ?? null,
    started_at: task.started_at,
    completed_at: outcome.completed_at,
    result: outcome.result,
    error: outcome.error,
    artifacts: outcome.artifacts,
    delivery_proof: outcome.delivery_proof,
    receipt_seq: outcome.receipt_seq,
    obligation_open: outcome.obligation_open,
    dead_letter: outcome.dead_letter,
  }
}

export function doneTask(row: DoneRow): DoneTask {
  const { lease_id, holder, worker_id } = row
  return asDone(row, {
    updated_at: row.updated_at,
    status: row.status,
    lease:
      lease_id === null || holder === null || worker_id === null ? null : { lease_id, holder, worker_id },
    started_at: row.started_at,
    outcome: {
      completed_at: row.completed_at,
      result: row.result,
      error: row.error,
      artifacts: row.artifacts,
      delivery_proof: row.delivery_proof,
      receipt_seq: row.receipt_seq,
      obligation_open: row.obligation_open,
      dead_letter: row.dead_letter,
    },
  })
}
