import type { PrincipalKey } from '../core/principal.ts'
import type { Receipt } from '../core/receipt.ts'
import type { Task, TaskSpec } from '../core/task.ts'
import { isParked, type Status } from '../core/transitions.ts'

/** A task changed, and the change is durable. */
export interface TaskEvent {
  readonly tenant: number
  readonly task_id: string
  readonly type: string
  readonly lane: number
  readonly status: Status
  readonly owner: PrincipalKey
  readonly principal_ai: string
  /** The worker that holds the lease, or held it at the end. */
  readonly holder: PrincipalKey | null
  readonly worker_id: string | null
  readonly lease_id: string | null
  /** The number of leases so far. */
  readonly fence: number
  /** Undefined if the commit did not load the spec. */
  readonly session_id: string | null | undefined
  readonly created_at: number | undefined
  readonly started_at: number | null
  readonly completed_at: number | null
  /** When the task is due next; null if never. */
  readonly wake_at: number | null
  readonly at: number
}

/** Whether the event is the creation of its task. A delayed or parked task causes further events before its first lease. */
export function isCreation({ fence, at, created_at, status }: TaskEvent): boolean {
  return fence === 0 && created_at === at && (status === 'queued' || isParked(status))
}

/** Whether the event is the end of its task. Evidence that is added to a task after its success is another event. */
export function isEnd({ completed_at, at }: TaskEvent): boolean {
  return completed_at === at
}

/** What a batch adds to the usage of a tenant. */
export interface BatchUsage {
  readonly tenant: number
  /** Created tasks. */
  readonly tasks: number
  /** How long the leases that ended were held. */
  readonly lease_ms: number
  /** Bytes of the bodies of new receipts. */
  readonly receipt_bytes: number
}

/** A batch became durable. */
export interface Commit {
  readonly commands: number
  readonly ms: number
  readonly receipts: readonly Receipt[]
  readonly usage: readonly BatchUsage[]
}

export type TaskListener = (event: TaskEvent) => void
export type CommitListener = (commit: Commit) => void

/** Events of committed batches, in the order of the commits. */
export class Events {
  readonly #report: (error: unknown) => void
  readonly #own = new Set<TaskListener>()
  readonly #all = new Set<TaskListener>()
  readonly #commits = new Set<CommitListener>()

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /** Changes made by this process. Returns an unsubscribe function. */
  onTask(listener: TaskListener): () => void {
    return add(this.#own, listener)
  }

  /** Changes made by this process and, as far as they are known, by others. */
  onAnyTask(listener: TaskListener): () => void {
    return add(this.#all, listener)
  }

  onCommit(listener: CommitListener): () => void {
    return add(this.#commits, listener)
  }

  emit(events: readonly TaskEvent[]): void {
    this.#tell(this.#own, events)
    this.#tell(this.#all, events)
  }

  /** Another process made this change. */
  relay(events: readonly TaskEvent[]): void {
    this.#tell(this.#all, events)
  }

  committed(commit: () => Commit): void {
    if (this.#commits.size > 0) this.#tell(this.#commits, [commit()])
  }

  /** Whether a listener follows the changes of other processes. */
  get followed(): boolean {
    return this.#all.size > 0
  }

  /** An error of a listener is reported and does not affect the other listeners or the commit. */
  #tell<T>(listeners: ReadonlySet<(event: T) => void>, events: readonly T[]): void {
    if (listeners.size === 0) return
    for (const event of events) {
      for (const listener of listeners) {
        try {
          listener(event)
        } catch (error) {
          this.#report(error)
        }
      }
    }
  }
}

function add<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function taskEvent(task: Task, type: string, spec: TaskSpec | undefined, at: number): TaskEvent {
  const worked = 'lease' in task ? task : null
  const lease = worked === null ? null : worked.lease
  return {
    tenant: task.tenant,
    task_id: task.task_id,
    type,
    lane: task.lane,
    status: task.status,
    owner: task.owner,
    principal_ai: task.principal_ai,
    holder: lease?.holder ?? null,
    worker_id: lease?.worker_id ?? null,
    lease_id: lease?.lease_id ?? null,
    fence: task.fence,
    session_id: spec?.session_id,
    created_at: spec?.created_at,
    started_at: worked === null ? null : worked.started_at,
    completed_at: 'outcome' in task ? task.outcome.completed_at : null,
    wake_at: task.status === 'queued' ? task.next_eligible_at : null,
    at,
  }
}
