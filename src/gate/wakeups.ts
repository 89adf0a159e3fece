import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { Hint } from '../store/store.ts'
import type { Batch } from './batch.ts'
import type { Engine } from './engine.ts'
import type { TaskEvent } from './events.ts'
import { Waiters } from './waiters.ts'
import { Watchers } from './watchers.ts'

/** Behind every event and hint stands a look at the store, at least this often while somebody waits. */
const LOOK_EVERY_MS = 1000

/** Delays that end further ahead are left to the regular look. */
const MAX_TIMER_MS = 60_000

/** Wakes waiting claims when there is work for them, and waits for a task when it ends or itself has to wait. */
export class Wakeups {
  readonly claims = new Waiters()
  stopped = false
  readonly #engine: Engine
  readonly #watchers = new Watchers()
  /** Who waits for any change of a task. */
  readonly #changes = new Watchers()
  readonly #timers = new Set<NodeJS.Timeout>()
  #look: NodeJS.Timeout | undefined

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Starts the regular look; it ends by itself when nobody waits any more. */
  keepLooking(): void {
    this.#look ??= setInterval(() => this.#lookNow(), LOOK_EVERY_MS)
  }

  /** Calls back when the task has ended, or waits for an answer. Returns the way to stop watching. */
  watch(tenant: number, taskId: string, onRest: () => void): () => void {
    this.keepLooking()
    return this.#watchers.add(tenant, taskId, onRest)
  }

  /** Calls back when the status of the task may be another. Returns the way to stop watching. */
  watchChanges(tenant: number, taskId: string, onChange: () => void): () => void {
    this.keepLooking()
    return this.#changes.add(tenant, taskId, onChange)
  }

  committed(batch: Batch, events: readonly TaskEvent[]): void {
    for (const event of events) {
      if (isAtRest(event.status)) this.#watchers.rests(event.tenant, event.task_id)
      if (!this.#changes.isEmpty) this.#changes.rests(event.tenant, event.task_id)
      if (event.wake_at !== null) this.#lookAt(event.tenant, event.wake_at - event.at)
    }
    if (this.claims.isEmpty) return
    for (const { tenant, lane, count } of batch.ready()) {
      const row = this.#engine.directory.of(tenant).get(lane)
      if (row !== undefined) this.claims.ready(row, count)
    }
  }

  /** Another process committed. How many tasks are left is unknown, so one of each kind of waiter looks. */
  heard(hint: Hint): void {
    if (hint.lanes.length > 0) this.claims.look(hint.tenant)
    for (const taskId of hint.tasks) this.#watchers.rests(hint.tenant, taskId)
    if (this.#changes.isEmpty) return
    for (const { task_id } of hint.changes) this.#changes.rests(hint.tenant, task_id)
  }

  stop(): void {
    this.stopped = true
    clearInterval(this.#look)
    this.#look = undefined
    for (const timer of this.#timers) clearTimeout(timer)
    this.claims.release()
    this.#watchers.release()
    this.#changes.release()
  }

  /** A delay ends in this many ms: whoever waits then looks. */
  #lookAt(tenant: number, delay: number): void {
    if (this.claims.isEmpty || delay > MAX_TIMER_MS) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.claims.look(tenant)
    }, delay + 1)
    this.#timers.add(timer)
  }

  #lookNow(): void {
    if (this.claims.isEmpty && this.#watchers.isEmpty && this.#changes.isEmpty) {
      clearInterval(this.#look)
      this.#look = undefined
      return
    }
    for (const tenant of this.claims.tenants()) this.claims.look(tenant)
    if (!this.#engine.store.shared) return
    void this.#checkWatched()
    // A hint may have been lost: whoever waits for a change looks for himself.
    this.#changes.release()
  }

  /** In a shared database a task may have come to rest in another process, and its hint been lost. */
  async #checkWatched(): Promise<void> {
    for (const { tenant, taskIds } of this.#watchers.watched()) {
      try {
        const rows = await this.#engine.store.reads.statuses(tenant, taskIds)
        for (const row of rows) if (isAtRest(row.status)) this.#watchers.rests(tenant, row.task_id)
      } catch (error) {
        this.#engine.report(error)
      }
    }
  }
}

/** Nothing more happens to it for now: it has ended, or waits for somebody's answer. */
export function isAtRest(status: Status): boolean {
  return isTerminal(status) || isParked(status)
}
