import type { Fault } from './errors.ts'
import type { FailurePolicy, ParentPolicy, WaitMode } from './flow.ts'
import type { InboxItem, InboxMark } from './inbox.ts'
import type { CanonicalJson } from './json/json.ts'
import type { Evidence } from './locatability.ts'
import type { ConcurrencyLimit, RateLimit, Wanted } from './matching.ts'
import type { PrincipalKey, Role } from './principal.ts'
import type { Asked, DecidedState, Question } from './question.ts'
import type { Receipt, ReceiptType } from './receipt.ts'
import type { Scheduling } from './scheduling.ts'
import type { Lease, QueuedTask, TaskCore, TaskSpec } from './task.ts'
import type { Status } from './transitions.ts'

interface TenantCommand {
  readonly tenant: number
}

/** A call of the worker that holds a lease. All three must match the task's lease. */
export interface LeaseClaim {
  readonly task_id: string
  readonly lease_id: string
  readonly holder: PrincipalKey
  readonly worker_id: string
}

export interface Create extends TenantCommand {
  readonly verb: 'create'
  readonly owner: PrincipalKey
  readonly principal_ai: string
  readonly type: string
  readonly capabilities: readonly string[]
  readonly priority: number
  readonly max_attempts: number
  readonly max_expiries: number
  readonly retry_backoff_seconds: number
  readonly timeout_seconds: number | null
  readonly deadline_at: number | null
  readonly retention_days: number | null
  readonly escalation_class: number | null
  readonly scheduling: Scheduling | null
  /** How many tasks like this one may be leased at once; null without a limit. */
  readonly limit: ConcurrencyLimit | null
  /** How many leases of tasks like this one may start in a window; null without a rate. */
  readonly rate: RateLimit | null
  readonly delay_ms: number
  readonly session_id: string | null
  readonly labels: CanonicalJson | null
  readonly idempotency_key: string | null
  /** The seq of the receipt that led to this task. */
  readonly caused_by: number | null
  /** The stored input: the requested one without what rules redact. */
  readonly input: CanonicalJson
  /** What was asked, if a rule takes something out of it. */
  readonly asked?: CanonicalJson | undefined
  /** Body of its task.assigned receipt. */
  readonly contract: CanonicalJson
  /** The question that must be answered before the task can be claimed. */
  readonly question: Asked | null
  /** What a rule said about it. */
  readonly policy: CanonicalJson | null
  /** Why no task is made of it, unless there is one under its key already. */
  readonly refusal?: Fault | undefined
  /** A rule forbids it: its task has failed from the beginning. */
  readonly block?: Block | undefined
  /** Its parent and what it depends on; undefined for a task without either. */
  readonly relations?: Relations | undefined
}

/** The tasks that a new one names. */
export interface Relations {
  /** Whether it may depend on tasks of all principals. */
  readonly sees_all: boolean
  readonly parent: { readonly task_id: string; readonly policy: ParentPolicy | null } | null
  readonly depends_on: readonly { readonly task_id: string; readonly on_failure: FailurePolicy }[]
  readonly mode: WaitMode
}

export interface Block {
  readonly rule_id: string | null
  readonly reason: string
  /** Body of its policy.blocked receipt. */
  readonly body: CanonicalJson
}

export interface Claim extends TenantCommand, Wanted {
  readonly verb: 'claim'
  readonly holder: PrincipalKey
  readonly worker_id: string
  /** Which process of the worker claims; null if it does not say. */
  readonly instance_id: string | null
  readonly max_tasks: number
  readonly ttl_ms: number
  /** In seconds, as the worker says. */
  readonly expected_duration: number | null
}

/** A new process of the worker takes over a lease that an earlier one left behind. */
export interface Reclaim extends TenantCommand, LeaseClaim {
  readonly verb: 'reclaim'
  readonly instance_id: string
  readonly capabilities: readonly string[]
  readonly ttl_ms: number
  readonly expected_duration: number | null
}

export interface Start extends TenantCommand, LeaseClaim {
  readonly verb: 'start'
}

export interface Renew extends TenantCommand, LeaseClaim {
  readonly verb: 'renew'
  readonly extend_ms: number
  /** Of the gateway: it is not counted, so that only the lifetime of the lease limits it. */
  readonly unlimited?: true
}

export interface Release extends TenantCommand, LeaseClaim {
  readonly verb: 'release'
  /** How long the task cannot be leased. Callers cannot ask for it. */
  readonly pause_ms?: number
  /** Of the gateway: the instance that found the lease after its holder had died. The loss counts as an expiry. */
  readonly recovered_by?: string
}

export interface Progress extends TenantCommand, LeaseClaim {
  readonly verb: 'progress'
  readonly progress: CanonicalJson
  /** Whether the owner should hear of it: the report then goes to its inbox. */
  readonly milestone: boolean
  readonly extend_ms: number | null
}

/** A result that is not in the channel where it should be. */
export interface Displaced {
  readonly channel: string
  /** The code of the error that the channel met. */
  readonly reason: string
  readonly kept_in: string
}

export interface Complete extends TenantCommand, LeaseClaim, Evidence {
  readonly verb: 'complete'
  readonly displaced?: Displaced | undefined
  readonly result: CanonicalJson
  readonly result_summary: string | null
  readonly completion_metadata: CanonicalJson
}

export interface Fail extends TenantCommand, LeaseClaim {
  readonly verb: 'fail'
  readonly error: CanonicalJson
  readonly retryable: boolean
  readonly retry_after_ms: number | null
}

/** The worker cannot go on without an answer: its lease ends, and the task waits. */
export interface Ask extends TenantCommand, LeaseClaim {
  readonly verb: 'ask'
  readonly question: Asked
}

/** A principal answers a question of a task, or the gateway withdraws a question that it has asked. */
export interface Answer extends TenantCommand {
  readonly verb: 'answer'
  readonly task_id: string
  readonly n: number
  readonly decision: 'approve' | 'deny' | 'answer' | 'withdraw'
  readonly by: PrincipalKey
  readonly role: Role
  /** Of a denial, in words. */
  readonly reason: string | null
  readonly answer: CanonicalJson
  /** Of what is approved, if the approver changed it; null if not. */
  readonly content_hash: string | null
  /** The user of the calling client decided, in that client. */
  readonly via?: 'client' | undefined
}

export interface Cancel extends TenantCommand {
  readonly verb: 'cancel'
  readonly task_id: string
  readonly by: PrincipalKey
  readonly role: Role
  readonly reason: string | null
}

/** The shared ledger has the report of a worker that holds or held the task. */
export interface Reconcile extends TenantCommand {
  readonly verb: 'reconcile'
  readonly task_id: string
  readonly holder: PrincipalKey
  readonly outcome:
    | {
        readonly kind: 'succeeded'
        readonly result: CanonicalJson
        readonly artifacts: CanonicalJson
        readonly result_summary: string | null
        readonly completion_metadata: CanonicalJson
      }
    | { readonly kind: 'failed'; readonly error: CanonicalJson }
}

/** The clock has reached a task's wake time: a lease lapsed or a delay is over. */
export interface Wake extends TenantCommand {
  readonly verb: 'wake'
  readonly task_id: string
}

export interface Acknowledge extends TenantCommand {
  readonly verb: 'acknowledge'
  readonly seq: number
  readonly by: PrincipalKey
  readonly role: Role
}

/**
 * A scheduler took on a schedule that a task asked for, or ended one. A schedule has the id of the task that asked
 * for it.
 */
export interface RecordSchedule extends TenantCommand, LeaseClaim {
  readonly verb: 'record_schedule'
  readonly event: 'created' | 'deleted'
  readonly schedule_id: string
  /** The seq of the task.assigned of the task that asked for the schedule. */
  readonly asked: number
  /** The seq of its schedule.created; null if there was none when we looked. */
  readonly created: number | null
  /** What the schedule is, in the words of the scheduler. */
  readonly schedule: CanonicalJson
}

/** A scheduler could not carry out the run of `next_run_at` for a long time. */
export interface ReportStale extends TenantCommand {
  readonly verb: 'report_stale'
  readonly by: PrincipalKey
  readonly role: Role
  readonly schedule_id: string
  readonly asked: number
  readonly created: number
  readonly next_run_at: number
  readonly reason: string | null
}

/** Calls whose refusal the owner of a task may want to hear of. */
export const REPORTED_CALLS = ['start', 'complete', 'fail'] as const

/** A caller without a valid lease of the task tried to start, complete or fail it. */
export interface ReportRefusal extends TenantCommand {
  readonly verb: 'report_refusal'
  readonly task_id: string
  /** The seq of its task.assigned. */
  readonly asked: number
  readonly call: (typeof REPORTED_CALLS)[number]
  readonly by: PrincipalKey
  readonly worker_id: string
}

/** A principal reports in: its relationship is noted, and the receipts it was handed count as delivered. */
export interface Greet extends TenantCommand {
  readonly verb: 'greet'
  readonly principal: PrincipalKey
  readonly instance_id: string | null
  readonly agent_version: string | null
  readonly client_capabilities: CanonicalJson | null
  readonly delivered: readonly number[]
}

/** Which items of whose inboxes. */
export interface ItemRef {
  readonly principal: PrincipalKey
  readonly seq: number
}

/** Items were delivered to a principal, or the principal reports what it did with them. */
export interface MarkInbox extends TenantCommand {
  readonly verb: 'mark'
  readonly by: PrincipalKey
  readonly role: Role
  readonly as: InboxMark
  readonly items: readonly ItemRef[]
}

/** What is noted beside the tasks. */
export const RECORDED_TYPES = [
  'policy.changed',
  'upstream.changed',
  'system.anomaly',
] as const satisfies readonly ReceiptType[]

/** A principal changed the configuration of the gate, or the gate noticed an anomaly that belongs to no task. */
export interface Record extends TenantCommand {
  readonly verb: 'record'
  readonly type: (typeof RECORDED_TYPES)[number]
  readonly from: PrincipalKey
  readonly to: PrincipalKey
  readonly body: CanonicalJson
}

/** What an assignment does not say about its task. */
export type RestoredTask = Omit<
  TaskSpec,
  'tenant' | 'task_id' | 'seq' | 'owner' | 'created_at' | 'instance'
> &
  Pick<
    TaskCore,
    | 'principal_ai'
    | 'max_attempts'
    | 'max_expiries'
    | 'retry_backoff_seconds'
    | 'timeout_seconds'
    | 'deadline_at'
    | 'retention_days'
    | 'escalation_class'
    | 'scheduling'
  > & { readonly capabilities: readonly string[]; readonly delay_ms: number }

/** What a receipt only refers to. */
export interface RestoredContents {
  /** Of task.assigned. */
  readonly task?: RestoredTask | undefined
  /** Of task.accepted. */
  readonly lease?: Pick<Lease, 'worker_id' | 'instance_id' | 'expires_at' | 'renewals'> | undefined
  /** Of question.asked. */
  readonly question?: Pick<Question, 'kind' | 'request' | 'not_before'> | undefined
  /** Of question.answered. */
  readonly answer?: CanonicalJson | undefined
  /** Of task.completed, if the result was too large for the receipt. */
  readonly result?: CanonicalJson | undefined
}

/** The next receipt of a ledger that another database had. Its task becomes what the receipt says. */
export interface Restore extends TenantCommand {
  readonly verb: 'restore'
  readonly receipt: Receipt
  readonly contents: RestoredContents
}

export type Command =
  | Create
  | Claim
  | Reclaim
  | Start
  | Renew
  | Release
  | Progress
  | Complete
  | Fail
  | Ask
  | Answer
  | Cancel
  | Reconcile
  | Wake
  | Acknowledge
  | RecordSchedule
  | ReportStale
  | ReportRefusal
  | Greet
  | MarkInbox
  | Record
  | Restore

export interface Granted {
  readonly task: QueuedTask
  readonly lease: Lease
  readonly fence: number
}

export interface Relationship {
  readonly tenant: number
  readonly principal: PrincipalKey
  readonly instance_id: string | null
  readonly first_seen_at: number
  readonly last_seen_at: number
  readonly sessions_count: number
  /** What the agent said of itself when it last said so. */
  readonly agent_version: string | null
  readonly client_capabilities: CanonicalJson | null
  /** When each of its instances was last seen, as far as that is remembered. */
  readonly instances: CanonicalJson | null
}

/** What a command that was carried out answers. Receipts are named by seq. */
export interface Answers {
  create: { task_id: string; status: Status; is_duplicate: boolean; seq: number }
  claim: { granted: readonly Granted[]; now: number }
  reclaim: { granted: readonly Granted[]; now: number }
  start: { status: 'running'; started_at: number }
  renew: { expires_at: number; renewals_left: number; now: number }
  /** Failed only if a lease was recovered once too often. */
  release: { status: 'queued' | 'failed' }
  progress: { expires_at: number; now: number }
  complete: { seq: number; obligation_open: boolean }
  fail: { requeued: boolean; next_eligible_at: number | null; seq: number }
  ask: { n: number; status: Status; expires_at: number | null; seq: number }
  answer: {
    n: number
    state: DecidedState
    status: Status
    /** This very decision had been made before. */
    is_duplicate: boolean
    decided_by: PrincipalKey
    decided_at: number
    seq: number
  }
  cancel: { ok: boolean; status: Status }
  /** Not ended if it had ended before, does not exist, or waits for an answer. */
  reconcile: { ended: boolean; status: Status | null }
  wake: { status: Status | null }
  acknowledge: { seq: number }
  record_schedule: { seq: number }
  report_stale: { seq: number }
  /** Null if it was not reported. */
  report_refusal: { seq: number | null }
  greet: Relationship
  mark: { items: readonly InboxItem[] }
  record: { seq: number }
  restore: { seq: number }
}

export type AnswerTo<C extends Command> = Answers[C['verb']]
