import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { TaskRecord } from '../store/reads.ts'
import { FOLLOWED_MS, type Hint, type HintedChange, type Store } from '../store/store.ts'
import { type Events, type TaskEvent, taskEvent } from './events.ts'

/** Changes that wait to be read. Who falls further behind misses the oldest; events may be lost. */
const MAX_WAITING = 10_000

/** Tasks that are read at once. */
const MAX_READ = 500

const MAX_REMEMBERED = 10_000

/** How often other processes are asked to go on telling. */
const ASK_EVERY_MS = FOLLOWED_MS / 3

interface Deps {
  readonly store: Pick<Store, 'shared' | 'follow' | 'reads'>
  readonly events: Events
  reading<T>(read: () => Promise<T>): Promise<T>
  report(error: unknown): void
}

type Waiting = HintedChange & { readonly tenant: number; readonly at: number }

/**
 * Tells those who follow tasks what other processes did. A hint says which task came to which status, and what else
 * there is to say of the task is read from the store. What is told of a task never goes back in its life.
 */
export class Relay {
  readonly #deps: Deps
  readonly #told = new Map<string, number>()
  #waiting: Waiting[] = []
  #isReading = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** To be called before somebody follows. Once it resolves, other processes tell what they do. */
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

  /** This process did it, and tells of it itself. */
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

  /** Whether nothing later has been told of the task. Hints of two processes can overtake each other. */
  #isNext(event: TaskEvent): boolean {
    const key = keyOf(event)
    const place = placeOf(event)
    if ((this.#told.get(key) ?? -1) > place) return false
    this.#told.delete(key)
    this.#told.set(key, place)
    if (this.#told.size > MAX_REMEMBERED) {
      const [oldest] = this.#told.keys()
      if (oldest !== undefined) this.#told.delete(oldest)
    }
    return true
  }
}

function keyOf({ tenant, task_id }: { readonly tenant: number; readonly task_id: string }): string {
  return `${tenant} ${task_id}`
}

/** The task as it was then, as far as it is known: a lease that has ended since is known only if it was the last. */
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

/** A number that grows along the life of a task: leases are counted, and what happens under one has an order. */
function placeOf({ status, fence }: Pick<TaskEvent, 'status' | 'fence'>): number {
  return (
    fence * 8 +
    (isTerminal(status) ? 4 : isParked(status) ? 2 : status === 'queued' ? 3 : status === 'running' ? 1 : 0)
  )
}
