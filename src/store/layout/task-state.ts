import type { CanonicalJson } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Scheduling } from '../../core/scheduling.ts'
import {
  asDone,
  asHeld,
  asParked,
  asQueued,
  type DoneTask,
  isHeld,
  isOpen,
  type Lease,
  type OpenTask,
  type Outcome,
  type Task,
  type TaskCore,
  wakeAt,
} from '../../core/task.ts'
import { isParked, type OpenStatus, type TerminalStatus } from '../../core/transitions.ts'
import { decodeFlow, encodeFlow, type StoredFlow } from './task-flow.ts'

// A row of `tasks_live` or `tasks_done` has the columns that keys and indexes need, and the whole task as one text:
// binding and reading thirty columns costs more than one JSON array. Its fields are known by their place.

/** How statuses are stored. Held tasks have the lowest numbers: indexes tell them from the others by that. */
export const OPEN_CODES = {
  leased: 1,
  running: 2,
  queued: 3,
  pending_approval: 4,
  input_required: 5,
} as const satisfies Record<OpenStatus, number>

export const DONE_CODES = {
  succeeded: 1,
  failed: 2,
  canceled: 3,
} as const satisfies Record<TerminalStatus, number>

const OPEN_STATUSES = ['leased', 'running', 'queued', 'pending_approval', 'input_required'] as const
const DONE_STATUSES = ['succeeded', 'failed', 'canceled'] as const

export function openStatus(code: number): OpenStatus {
  const status = OPEN_STATUSES[code - 1]
  if (status === undefined) throw new Error(`an open task has the unknown status ${code}`)
  return status
}

export function doneStatus(code: number | null): TerminalStatus {
  const status = code === null ? undefined : DONE_STATUSES[code - 1]
  if (status === undefined) throw new Error(`a done task has the unknown status ${code}`)
  return status
}

/** Where an open task stands in the primary key of `tasks_live`: parked tasks are listed apart from the others. */
export type Parked = 0 | 1 | 2

export function parkedOf({ status }: OpenTask): Parked {
  if (status === 'pending_approval') return 1
  return status === 'input_required' ? 2 : 0
}

type Core = readonly [
  task_id: string,
  owner: PrincipalKey,
  principal_ai: string,
  lane: number,
  pool: number,
  rank: number,
  attempt: number,
  max_attempts: number,
  expiry_count: number,
  max_expiries: number,
  retry_backoff_seconds: number,
  timeout_seconds: number | null,
  deadline_at: number | null,
  input_length: number,
  fence: number,
  progress_count: number,
  question_count: number,
  updated_at: number,
  receipts: readonly number[],
]

type HeldLease = readonly [
  lease_id: string,
  holder: PrincipalKey,
  worker_id: string,
  instance_id: string | null,
  acquired_at: number,
  renewals: number,
]

type OpenState = readonly [
  ...Core,
  wake_at: number | null,
  started_at: number | null,
  lease: HeldLease | null,
  retention_days?: number | null,
  escalation_class?: number | null,
  scheduling?: Scheduling | null,
  flow?: StoredFlow,
]

type DoneState = readonly [
  ...Core,
  completed_at: number,
  started_at: number | null,
  lease: readonly [lease_id: string, holder: PrincipalKey, worker_id: string] | null,
  receipt_seq: number,
  obligation_open: 0 | 1,
  dead_letter: 0 | 1,
  retention_days?: number | null,
  escalation_class?: number | null,
  scheduling?: Scheduling | null,
  flow?: StoredFlow,
]

/** What is stored of a task besides what its outcome says. `receipts` are the seqs of its receipts. */
export function encodeState(task: Task, receipts: readonly number[]): string {
  check(task)
  const text = JSON.stringify(isOpen(task) ? openState(task, receipts) : doneState(task, receipts))
  // Most tasks have none of these, so they are the last elements, and absent then.
  const { retention_days, escalation_class, scheduling, flow } = task
  if (flow !== null) {
    const before = `${retention_days},${escalation_class},${JSON.stringify(scheduling)}`
    return `${text.slice(0, -1)},${before},${encodeFlow(flow)}]`
  }
  if (scheduling !== null) {
    return `${text.slice(0, -1)},${retention_days},${escalation_class},${JSON.stringify(scheduling)}]`
  }
  if (escalation_class !== null) return `${text.slice(0, -1)},${retention_days},${escalation_class}]`
  return retention_days === null ? text : `${text.slice(0, -1)},${retention_days}]`
}

/** What a text cannot be constrained to by the database. */
function check(task: Task): void {
  const { task_id, status } = task
  if (isParked(status) && task.question_count === 0)
    throw new Error(`task ${task_id} waits without a question`)
  if (isHeld(task) && (status === 'running') !== (task.started_at !== null)) {
    throw new Error(`task ${task_id} is ${status}, and its start says otherwise`)
  }
  if (!isOpen(task) && (status === 'succeeded') !== (task.outcome.error === null)) {
    throw new Error(`task ${task_id} is ${status}, and its error says otherwise`)
  }
}

// Each array below is one literal: spreading the common fields costs twice as much.

function openState(task: OpenTask, receipts: readonly number[]): OpenState {
  return [
    task.task_id,
    task.owner,
    task.principal_ai,
    task.lane,
    task.pool,
    task.rank,
    task.attempt,
    task.max_attempts,
    task.expiry_count,
    task.max_expiries,
    task.retry_backoff_seconds,
    task.timeout_seconds,
    task.deadline_at,
    task.input_length,
    task.fence,
    task.progress_count,
    task.question_count,
    task.updated_at,
    receipts,
    wakeAt(task),
    isHeld(task) ? task.started_at : null,
    isHeld(task) ? heldLease(task.lease) : null,
  ]
}

function heldLease(lease: Lease): HeldLease {
  const { lease_id, holder, worker_id, instance_id, acquired_at, renewals } = lease
  return [lease_id, holder, worker_id, instance_id, acquired_at, renewals]
}

function doneState(task: DoneTask, receipts: readonly number[]): DoneState {
  const { lease, outcome } = task
  return [
    task.task_id,
    task.owner,
    task.principal_ai,
    task.lane,
    task.pool,
    task.rank,
    task.attempt,
    task.max_attempts,
    task.expiry_count,
    task.max_expiries,
    task.retry_backoff_seconds,
    task.timeout_seconds,
    task.deadline_at,
    task.input_length,
    task.fence,
    task.progress_count,
    task.question_count,
    task.updated_at,
    receipts,
    outcome.completed_at,
    task.started_at,
    lease === null ? null : [lease.lease_id, lease.holder, lease.worker_id],
    outcome.receipt_seq,
    outcome.obligation_open ? 1 : 0,
    outcome.dead_letter ? 1 : 0,
  ]
}

/** A task as a row has it, with the seqs of its receipts that the row names. */
export interface Stored<T extends Task> {
  readonly task: T
  readonly receipts: readonly number[]
}

export interface LiveRow {
  readonly tenant: number
  readonly seq: number
  readonly status: number
  readonly state: string
}

export interface DoneRow extends LiveRow {
  readonly result: CanonicalJson | null
  /** JSON array of error, artifacts and delivery_proof; null if it has none of them. */
  readonly details: string | null
}

type Details = readonly [CanonicalJson | null, CanonicalJson | null, CanonicalJson | null]

export function decodeLive({ tenant, seq, status: code, state }: LiveRow): Stored<OpenTask> {
  const fields = JSON.parse(state) as OpenState
  return {
    task: openTask(
      coreOf(tenant, seq, fields, fields[22], fields[23], fields[24], fields[25]),
      openStatus(code),
      fields,
    ),
    receipts: fields[18],
  }
}

function openTask(task: TaskCore, status: OpenStatus, fields: OpenState): OpenTask {
  const { attempt, expiry_count, question_count, fence, updated_at } = task
  const [wake_at, started_at, lease] = [fields[19], fields[20], fields[21]]
  switch (status) {
    case 'queued':
      return asQueued(task, { status, attempt, expiry_count, updated_at, next_eligible_at: wake_at })
    case 'pending_approval':
    case 'input_required':
      return asParked(task, { status, question_count, updated_at, expires_at: wake_at })
    case 'leased':
    case 'running':
      if (lease === null || wake_at === null)
        throw new Error(`task ${task.task_id} is ${status} without a lease`)
      return asHeld(task, { status, fence, updated_at, lease: leaseOf(lease, wake_at), started_at })
  }
}

function leaseOf(lease: HeldLease, expires_at: number): Lease {
  return {
    lease_id: lease[0],
    holder: lease[1],
    worker_id: lease[2],
    instance_id: lease[3],
    acquired_at: lease[4],
    expires_at,
    renewals: lease[5],
  }
}

export function decodeDone({ tenant, seq, status: code, state, result, details }: DoneRow): Stored<DoneTask> {
  const fields = JSON.parse(state) as DoneState
  const [error, artifacts, delivery_proof] = details === null ? NO_DETAILS : (JSON.parse(details) as Details)
  const task = asDone(coreOf(tenant, seq, fields, fields[25], fields[26], fields[27], fields[28]), {
    updated_at: fields[17],
    status: doneStatus(code),
    lease:
      fields[21] === null
        ? null
        : { lease_id: fields[21][0], holder: fields[21][1], worker_id: fields[21][2] },
    started_at: fields[20],
    outcome: {
      completed_at: fields[19],
      result,
      error,
      artifacts,
      delivery_proof,
      receipt_seq: fields[22],
      obligation_open: fields[23] === 1,
      dead_letter: fields[24] === 1,
    },
  })
  return { task, receipts: fields[18] }
}

const NO_DETAILS: Details = [null, null, null]

export function encodeDetails({ error, artifacts, delivery_proof }: Outcome): string | null {
  if (error === null && artifacts === null && delivery_proof === null) return null
  const details: Details = [error, artifacts, delivery_proof]
  return JSON.stringify(details)
}

/** The error in the details of an ended task. */
export function errorIn(details: string | null): CanonicalJson | null {
  return details === null ? null : (JSON.parse(details) as Details)[0]
}

interface Summary extends Pick<TaskCore, 'principal_ai' | 'question_count'> {
  readonly worker_id: string | null
}

/** What lists show of a task. */
export function summaryOf(state: string): Summary {
  const fields = JSON.parse(state) as OpenState | DoneState
  return { principal_ai: fields[2], question_count: fields[16], worker_id: fields[21]?.[2] ?? null }
}

/** One literal, as in core/task.ts. */
function coreOf(
  tenant: number,
  seq: number,
  fields: OpenState | DoneState,
  retention_days: number | null | undefined,
  escalation_class: number | null | undefined,
  scheduling: Scheduling | null | undefined,
  flow: StoredFlow | undefined,
): TaskCore {
  return {
    tenant,
    task_id: fields[0],
    seq,
    lane: fields[3],
    pool: fields[4],
    rank: fields[5],
    owner: fields[1],
    principal_ai: fields[2],
    attempt: fields[6],
    max_attempts: fields[7],
    expiry_count: fields[8],
    max_expiries: fields[9],
    retry_backoff_seconds: fields[10],
    timeout_seconds: fields[11],
    deadline_at: fields[12],
    retention_days: retention_days ?? null,
    escalation_class: escalation_class ?? null,
    scheduling: scheduling ?? null,
    input_length: fields[13],
    fence: fields[14],
    progress_count: fields[15],
    question_count: fields[16],
    updated_at: fields[17],
    flow: flow === undefined ? null : decodeFlow(flow),
  }
}
