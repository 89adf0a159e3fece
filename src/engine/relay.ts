import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { TaskRecord } from '../store/reads.ts'
import { FOLLOWED_MS, type Hint, type HintedChange, type Store } from '../store/store.ts'
import { type Events, type TaskEvent, taskEvent } from './events.ts'

/** Maximum changes that wait to be read. Beyond it the oldest are dropped: events may be lost. */
const MAX_WAITING = 10_000

/** Tasks that one query reads. */
const MAX_READ = 500

const MAX_REMEMBERED = 10_000

/** The interval at which other processes are asked to keep sending hints. */
const ASK_EVERY_MS = FOLLOWED_MS / 3

interface Deps {
  readonly store: Pick<Store, 'shared' | 'follow' | 'reads'>
  readonly events: Events
  reading<T>(read: () => Promise<T>): Promise<T>
  report(error: unknown): void
}

type Waiting = HintedChange & { readonly tenant: number; readonly at: number }

/**
 * Passes the changes of other processes to listeners. A hint names the task and its new status; the rest is read from
 * the store. The events of a task never go back to an earlier stage of its life.
 */
export class Relay {
  readonly #deps: Deps
  readonly #reported = new Map<string, number>()
  #waiting: Waiting[] = []
  #isReading = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Must be called before a listener follows. Once it resolves, other processes send hints. */
  async follow(): Promise<void> {
    const { store } = this.#deps
    if (!store.shared || this.#timer !== undefined) return
    await this.#deps.reading(() => store.follow())
    this.#timer ??= setInterval(() => this.#askAgain(), ASK_EVERY_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  heard({ tenant, at, changes }: Hint): void {
    if (changes.length === 0 || !this.#deps.events.followed) return
    for (const change of changes) this.#waiting.push({ tenant, at, ...change })
    if (this.#waiting.length > MAX_WAITING) this.#waiting = this.#waiting.slice(-MAX_WAITING)
    if (!this.#isReading) void this.#readAll()
  }

  /** A change of this process, which it has reported itself. */
  committed(events: readonly TaskEvent[]): void {
    const { store, events: listeners } = this.#deps
    if (!store.shared || !listeners.followed) return
    for (const event of events) this.#isNext(event)
  }

  #askAgain(): void {
    const { store, events } = this.#deps
    if (events.followed) store.follow().catch((error) => this.#deps.report(error))
    else this.stop()
  }

  async #readAll(): Promise<void> {
    this.#isReading = true
    try {
      while (this.#waiting.length > 0) await this.#read(this.#waiting.splice(0, MAX_READ))
    } finally {
      this.#isReading = false
    }
  }

  async #read(changes: readonly Waiting[]): Promise<void> {
    try {
      const records = new Map<string, TaskRecord>()
      for (const tenant of new Set(changes.map((change) => change.tenant))) {
        const ids = new Set(
          changes.filter((change) => change.tenant === tenant).map(({ task_id }) => task_id),
        )
        for (const record of await this.#deps.store.reads.tasks(tenant, [...ids])) {
          records.set(keyOf(record.task), record)
        }
      }
      const events = changes.flatMap((change) => {
        const record = records.get(keyOf(change))
        return record === undefined ? [] : [eventOf(change, record)]
      })
      this.#deps.events.relay(events.filter((event) => this.#isNext(event)))
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** Whether no later event of the task was reported. Hints of two processes can overtake each other. */
  #isNext(event: TaskEvent): boolean {
    const key = keyOf(event)
    const place = placeOf(event)
    if ((this.#reported.get(key) ?? -1) > place) return false
    this.#reported.delete(key)
    this.#reported.set(key, place)
    if (this.#reported.size > MAX_REMEMBERED) {
      const [oldest] = this.#reported.keys()
      if (oldest !== undefined) this.#reported.delete(oldest)
    }
    return true
  }
}

function keyOf({ tenant, task_id }: { readonly tenant: number; readonly task_id: string }): string {
  return `${tenant} ${task_id}`
}

/** The state of the task at that time, as far as it is known: an ended lease is known only if it was the last one. */
function eventOf({ status, fence, at }: Waiting, { task, spec }: TaskRecord): TaskEvent {
  const now = taskEvent(task, spec.type, spec, at)
  if (now.status === status && now.fence === fence) return now
  const isSameLease = now.fence === fence && isUnderLease(status)
  return {
    ...now,
    status,
    fence,
    completed_at: isTerminal(status) ? now.completed_at : null,
    wake_at: null,
    ...(!isSameLease && { holder: null, worker_id: null, lease_id: null, started_at: null }),
  }
}

function isUnderLease(status: Status): boolean {
  return status === 'leased' || status === 'running' || isTerminal(status)
}

/** A number that increases over the life of a task: by lease, and within a lease by status. */
function placeOf({ status, fence }: Pick<TaskEvent, 'status' | 'fence'>): number {
  return (
    fence * 8 +
    (isTerminal(status) ? 4 : isParked(status) ? 2 : status === 'queued' ? 3 : status === 'running' ? 1 : 0)
  )
}
