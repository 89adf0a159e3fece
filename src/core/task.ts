import type { Flow } from './flow.ts'
import type { CanonicalJson } from './json/json.ts'
import type { PrincipalKey } from './principal.ts'
import type { Scheduling } from './scheduling.ts'
import { isTerminal, type ParkedStatus, type TerminalStatus } from './transitions.ts'

/** What every task carries through its life: the narrow, often rewritten part. */
export interface TaskCore {
  readonly tenant: number
  readonly task_id: string
  /** The seq of its task.assigned receipt: its age, the tie-break of its turn, and its obligation, in one number. */
  readonly seq: number
  readonly lane: number
  readonly pool: number
  /** Its turn among the ready tasks of its lane, fixed when it is created. */
  readonly rank: number
  readonly owner: PrincipalKey
  readonly principal_ai: string
  /** Failures that led to another try. Expiry never counts here. */
  readonly attempt: number
  readonly max_attempts: number
  readonly expiry_count: number
  readonly max_expiries: number
  readonly retry_backoff_seconds: number
  readonly timeout_seconds: number | null
  /** When the task as a whole has to have ended; null if it may take as long as it takes. */
  readonly deadline_at: number | null
  /** Days after its end at which its contents are removed; null if they stay. */
  readonly retention_days: number | null
  /** Which of the escalation targets is notified; null: as the server decides. */
  readonly escalation_class: number | null
  /** Null for most tasks. */
  readonly scheduling: Scheduling | null
  /** The number of characters of its input, which bounds what one claim hands out. */
  readonly input_length: number
  /** Rises with every lease, so that a worker's own side effects can refuse a predecessor. */
  readonly fence: number
  readonly progress_count: number
  /** The questions it has asked: the number of the newest. */
  readonly question_count: number
  readonly updated_at: number
  /** What it has to do with other tasks; null if nothing. */
  readonly flow: Flow | null
}

export interface QueuedTask extends TaskCore {
  readonly status: 'queued'
  /** Null when it can be claimed now. */
  readonly next_eligible_at: number | null
}

export interface HeldTask extends TaskCore {
  readonly status: 'leased' | 'running'
  readonly lease: Lease
  readonly started_at: number | null
}

/** It waits for the answer to its newest question, and no worker holds it. */
export interface ParkedTask extends TaskCore {
  readonly status: ParkedStatus
  /** When the question is over; null if it waits for as long as it takes. */
  readonly expires_at: number | null
}

export interface DoneTask extends TaskCore {
  readonly status: TerminalStatus
  /** The lease under which it ended; null if it ended without one. */
  readonly lease: EndedLease | null
  readonly started_at: number | null
  readonly outcome: Outcome
}

export type OpenTask = QueuedTask | HeldTask | ParkedTask
export type Task = OpenTask | DoneTask

/** The fields that a lease call must match. */
export interface EndedLease {
  readonly lease_id: string
  /** The authenticated principal; worker_id is only its label. */
  readonly holder: PrincipalKey
  readonly worker_id: string
}

export interface Lease extends EndedLease {
  /** Which process of the worker took it, where it says so. */
  readonly instance_id: string | null
  readonly acquired_at: number
  /** Never past the execution timeout or the lease's absolute lifetime. At this instant the lease is void. */
  readonly expires_at: number
  readonly renewals: number
}

export interface Outcome {
  readonly completed_at: number
  readonly result: CanonicalJson | null
  readonly error: CanonicalJson | null
  readonly artifacts: CanonicalJson | null
  readonly delivery_proof: CanonicalJson | null
  /** The seq of the receipt that ended the task. */
  readonly receipt_seq: number
  /** True for a success that does not say where its result is: its obligation waits for the repair. */
  readonly obligation_open: boolean
  /** True when retries or expiries ran out. */
  readonly dead_letter: boolean
}

/** What was asked for: written once, never rewritten. */
export interface TaskSpec {
  readonly tenant: number
  readonly task_id: string
  readonly seq: number
  readonly owner: PrincipalKey
  readonly type: string
  readonly priority: number
  readonly session_id: string | null
  readonly labels: CanonicalJson | null
  readonly idempotency_key: string | null
  readonly created_at: number
  readonly instance: string
  /** The input of create as it was given, without idempotency_key and without defaults. */
  readonly input: CanonicalJson
  /** What a rule said about it: `{action, rule_id, reason, redacted_fields}`; null if none had anything to say. */
  readonly policy: CanonicalJson | null
}

export interface ProgressEntry {
  readonly tenant: number
  readonly task_id: string
  /** 1, 2, 3, ... within the task. */
  readonly n: number
  readonly at: number
  readonly lease_id: string
  readonly progress: CanonicalJson
}

// Each object below is one literal: on Node 20 a spread that is then added to costs about 100 times as much, and a
// new task object is created with every command.

type Queued = Pick<QueuedTask, 'status' | 'attempt' | 'expiry_count' | 'updated_at' | 'next_eligible_at'>

export function asQueued(task: TaskCore, change: Queued): QueuedTask {
  return {
    tenant: task.tenant,
    task_id: task.task_id,
    seq: task.seq,
    lane: task.lane,
    pool: task.pool,
    rank: task.rank,
    owner: task.owner,
    principal_ai: task.principal_ai,
    attempt: change.attempt,
    max_attempts: task.max_attempts,
    expiry_count: change.expiry_count,
    max_expiries: task.max_expiries,
    retry_backoff_seconds: task.retry_backoff_seconds,
    timeout_seconds: task.timeout_seconds,
    deadline_at: task.deadline_at,
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    scheduling: task.scheduling,
    input_length: task.input_length,
    fence: task.fence,
    progress_count: task.progress_count,
    question_count: task.question_count,
    updated_at: change.updated_at,
    flow: task.flow,
    status: change.status,
    next_eligible_at: change.next_eligible_at,
  }
}

type Held = Pick<HeldTask, 'fence' | 'updated_at' | 'status' | 'lease' | 'started_at'>

export function asHeld(task: TaskCore, change: Held): HeldTask {
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
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    scheduling: task.scheduling,
    input_length: task.input_length,
    fence: change.fence,
    progress_count: task.progress_count,
    question_count: task.question_count,
    updated_at: change.updated_at,
    flow: task.flow,
    status: change.status,
    lease: change.lease,
    started_at: change.started_at,
  }
}

type Parked = Pick<ParkedTask, 'question_count' | 'updated_at' | 'status' | 'expires_at'>

export function asParked(task: TaskCore, change: Parked): ParkedTask {
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
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    scheduling: task.scheduling,
    input_length: task.input_length,
    fence: task.fence,
    progress_count: task.progress_count,
    question_count: change.question_count,
    updated_at: change.updated_at,
    flow: task.flow,
    status: change.status,
    expires_at: change.expires_at,
  }
}

type Done = Pick<DoneTask, 'updated_at' | 'status' | 'lease' | 'started_at' | 'outcome'>

export function asDone(task: TaskCore, change: Done): DoneTask {
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
    retention_days: task.retention_days,
    escalation_class: task.escalation_class,
    scheduling: task.scheduling,
    input_length: task.input_length,
    fence: task.fence,
    progress_count: task.progress_count,
    question_count: task.question_count,
    updated_at: change.updated_at,
    flow: task.flow,
    status: change.status,
    lease: change.lease,
    started_at: change.started_at,
    outcome: change.outcome,
  }
}

/** The task with other relations. */
export function withFlow<T extends OpenTask>(task: T, flow: Flow): T {
  return { ...task, flow }
}

/**
 * When the task needs attention by the clock: due time of a delayed task, expiry of a lease or of a question. None of them is
 * after the deadline. A ready task has none, also if it has a deadline: that is how the stores know that it is ready.
 */
export function wakeAt(task: OpenTask): number | null {
  switch (task.status) {
    case 'queued':
      return task.next_eligible_at
    case 'leased':
    case 'running':
      return task.lease.expires_at
    default:
      return task.expires_at
  }
}

export function isOpen(task: Task): task is OpenTask {
  return !isTerminal(task.status)
}

export function isHeld(task: Task): task is HeldTask {
  return task.status === 'leased' || task.status === 'running'
}

export function isReady(task: Task): task is QueuedTask {
  return task.status === 'queued' && task.next_eligible_at === null
}
