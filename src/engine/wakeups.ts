import type { Settings } from '../core/settings.ts'
import { isParked, isTerminal, type Status } from '../core/transitions.ts'
import type { Hint, Store } from '../store/store.ts'
import { Alarms } from './alarms.ts'
import type { Batch } from './batch.ts'
import type { TaskEvent } from './events.ts'
import type { Directory } from './lane-directory.ts'
import type { Sweeps } from './sweeps.ts'
import { type Waiter, Waiters } from './waiters.ts'
import { Watchers } from './watchers.ts'

/** In a shared database a hint of another process may be lost, so this often it is asked whether anything changed. */
const LOOK_EVERY_MS = 1000

interface Deps {
  readonly store: Pick<Store, 'shared' | 'nextWake' | 'reads'>
  readonly settings: Pick<Settings, 'max_concurrent_leases'>
  readonly directory: Directory
  readonly sweeps: Pick<Sweeps, 'sweep'>
  report(error: unknown): void
}

/** Wakes waiting claims when there is work for them, and waits for a task when it ends or itself has to wait. */
export class Wakeups {
  readonly claims = new Waiters()
  stopped = false
  readonly #deps: Deps
  readonly #watchers = new Watchers()
  readonly #alarms: Alarms
  /** Tenants that had as many leases as they may have. */
  readonly #full = new Set<number>()
  /** The newest receipt of a tenant when it was last looked at. */
  readonly #looked = new Map<number, number>()
  /** Tenants whose lanes are being loaded, and whether there is news since that began. */
  readonly #loading = new Map<number, boolean>()
  #look: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    // A claim waits only if its lanes had nothing ready, so what others have for it is in lanes that have a mark since. How
    // many tasks are left is unknown, so one of each kind of waiter looks.
    deps.directory.onNews = (lane) => this.claims.lookInto(lane)
    this.#alarms = new Alarms({
      nextWake: (tenant) => deps.store.nextWake(tenant),
      sweep: () => deps.sweeps.sweep(),
      isAwaited: (tenant) => this.claims.has(tenant),
      report: (error) => deps.report(error),
    })
  }

  /** A claim waits, until it is removed from `claims`. */
  wait(waiter: Waiter): void {
    this.claims.add(waiter)
    this.#alarms.plan(waiter.tenant)
    this.#keepLooking()
  }

  /** Calls back when the task has ended, or waits for an answer. Returns the function that unsubscribes. */
  watch(tenant: number, taskId: string, onRest: () => void): () => void {
    this.#keepLooking()
    return this.#watchers.add(tenant, taskId, onRest)
  }

  committed(batch: Batch, events: readonly TaskEvent[]): void {
    for (const event of events) {
      if (isAtRest(event.status)) this.#watchers.rests(event.tenant, event.task_id)
      if (event.wake_at !== null) this.#alarms.set(event.tenant, event.wake_at - event.at)
    }
    for (const { tenant, active_leases } of batch.tenants()) this.#count(tenant, active_leases)
    if (this.claims.isEmpty) return
    for (const { tenant, lane, count } of batch.ready()) {
      const row = this.#deps.directory.of(tenant).get(lane)
      if (row !== undefined) this.claims.ready(row, count)
    }
  }

  /** Another process committed. */
  heard(hint: Hint): void {
    if (hint.lanes.length > 0 && this.claims.has(hint.tenant)) void this.#catchUp(hint.tenant)
    for (const taskId of hint.tasks) this.#watchers.rests(hint.tenant, taskId)
  }

  stop(): void {
    this.stopped = true
    clearInterval(this.#look)
    this.#look = undefined
    this.#alarms.stop()
    this.claims.release()
    this.#watchers.release()
  }

  /** A lease that becomes free under the quota is work for claims that found the quota used up. */
  #count(tenant: number, leases: number): void {
    const limit = this.#deps.settings.max_concurrent_leases
    if (limit < 0) return
    if (leases >= limit) this.#full.add(tenant)
    else if (this.#full.delete(tenant)) this.claims.look(tenant)
  }

  /** It ends by itself when nobody waits any more. Without other processes there is nothing to look for. */
  #keepLooking(): void {
    if (this.#deps.store.shared) this.#look ??= setInterval(() => void this.#lookNow(), LOOK_EVERY_MS)
  }

  async #lookNow(): Promise<void> {
    if (this.claims.isEmpty && this.#watchers.isEmpty) {
      clearInterval(this.#look)
      this.#look = undefined
      this.#looked.clear()
      return
    }
    await Promise.all([...this.claims.tenants().map((tenant) => this.#lookAt(tenant)), this.#checkWatched()])
  }

  /** One row says whether anything happened that this process has not seen. */
  async #lookAt(tenant: number): Promise<void> {
    try {
      const { seq, active_leases, lanes_version } = await this.#deps.store.reads.counters(tenant)
      this.#count(tenant, active_leases)
      if (lanes_version !== this.#deps.directory.of(tenant).version) await this.#catchUp(tenant)
      if (seq === this.#looked.get(tenant)) return
      this.#looked.set(tenant, seq)
      await this.#alarms.check(tenant)
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** Loads lanes that other processes have changed, one time after the other: many hints may come at once. */
  async #catchUp(tenant: number): Promise<void> {
    const isLoading = this.#loading.has(tenant)
    this.#loading.set(tenant, isLoading)
    if (isLoading) return
    do {
      this.#loading.set(tenant, false)
      await this.#loadLanes(tenant)
    } while (this.#loading.get(tenant) && !this.stopped)
    this.#loading.delete(tenant)
  }

  async #loadLanes(tenant: number): Promise<void> {
    const { directory, store } = this.#deps
    const lanes = directory.of(tenant)
    try {
      const rows = await store.reads.lanes(tenant, lanes.version)
      if (directory.of(tenant) === lanes) directory.learn(tenant, rows)
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** In a shared database a task may have come to rest in another process, and its hint been lost. */
  async #checkWatched(): Promise<void> {
    for (const { tenant, taskIds } of this.#watchers.watched()) {
      try {
        const rows = await this.#deps.store.reads.statuses(tenant, taskIds)
        for (const row of rows) if (isAtRest(row.status)) this.#watchers.rests(tenant, row.task_id)
      } catch (error) {
        this.#deps.report(error)
      }
    }
  }
}

/** Nothing more happens to it for now: it has ended, or waits for somebody's answer. */
export function isAtRest(status: Status): boolean {
  return isTerminal(status) || isParked(status)
}
