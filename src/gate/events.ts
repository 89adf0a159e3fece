import type { PrincipalKey } from '../core/principal.ts'
import type { Task } from '../core/task.ts'
import type { Status } from '../core/transitions.ts'
import type { Directory } from './directory.ts'

/** A task changed, and the change is durable. */
export interface TaskEvent {
  readonly tenant: number
  readonly task_id: string
  readonly type: string
  readonly status: Status
  readonly owner: PrincipalKey
  readonly principal_ai: string
  readonly worker_id: string | null
  readonly lease_id: string | null
  /** When the clock will look at it next; null if never. */
  readonly wake_at: number | null
  readonly at: number
}

export type TaskListener = (event: TaskEvent) => void

/** Events of this process, given after each commit in the order of the commits. */
export class Events {
  readonly #report: (error: unknown) => void
  #listeners = new Set<TaskListener>()

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /** Returns the way to stop listening. */
  onTask(listener: TaskListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A listener that throws is reported; it stops neither the others nor what comes after the commit. */
  emit(events: readonly TaskEvent[]): void {
    if (this.#listeners.size === 0) return
    for (const event of events) for (const listener of this.#listeners) this.#tell(listener, event)
  }

  #tell(listener: TaskListener, event: TaskEvent): void {
    try {
      listener(event)
    } catch (error) {
      this.#report(error)
    }
  }
}

export function taskEvent(task: Task, directory: Directory, at: number): TaskEvent {
  const lease = task.status === 'queued' ? null : task.lease
  return {
    tenant: task.tenant,
    task_id: task.task_id,
    type: directory.of(task.tenant).get(task.lane)?.type ?? '',
    status: task.status,
    owner: task.owner,
    principal_ai: task.principal_ai,
    worker_id: lease?.worker_id ?? null,
    lease_id: lease?.lease_id ?? null,
    wake_at: task.status === 'queued' ? task.next_eligible_at : null,
    at,
  }
}
