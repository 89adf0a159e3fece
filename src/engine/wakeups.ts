import type { Create } from '../core/command.ts'
import { laneName } from '../core/matching.ts'
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

/** In a shared database a hint of another process may be lost, so changes are polled at this interval. */
const POLL_INTERVAL_MS = 1000

/** The longest timer for the end of a window, and the pause after one. */
const MAX_TIMER_MS = 60_000
const REPLAN_MS = 50

interface Deps {
  readonly store: Pick<Store, 'shared' | 'nextWake' | 'reads'>
  settingsOf(tenant: number): Pick<Settings, 'max_concurrent_leases'>
  readonly directory: Directory
  readonly sweeps: Pick<Sweeps, 'sweep'>
  report(error: unknown): void
}

/** Wakes waiting claims when tasks become ready, and waits for a task when it ends or is parked. */
export class Wakeups {
  readonly claims = new Waiters()
  stopped = false
  readonly #deps: Deps
  readonly #watchers = new Watchers()
  readonly #alarms: Alarms
  /** Tenants that have reached their quota of leases. */
  readonly #full = new Set<number>()
  /** The newest receipt of a tenant at the last poll. */
  readonly #polled = new Map<number, number>()
  /** Timers until the first full window of a rate ends, by tenant. */
  readonly #rateTimers = new Map<number, NodeJS.Timeout>()
  /** Tenants whose lanes are being loaded, and whether a hint arrived since the load started. */
  readonly #loading = new Map<number, boolean>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    // A claim waits only if its lanes had no ready task, so tasks of other processes are in lanes that have a mark since.
    // The number of remaining tasks is unknown, so one waiter of each profile is woken.
    deps.directory.onNews = (lane) => this.claims.lookInto(lane)
    this.#alarms = new Alarms({
      nextWake: (tenant) => deps.store.nextWake(tenant),
      sweep: () => deps.sweeps.sweep(),
      isAwaited: (tenant) => this.claims.has(tenant),
      report: (error) => deps.report(error),
    })
  }

  /** Registers a waiting claim, until it is removed from `claims`. */
  wait(waiter: Waiter): void {
    this.claims.add(waiter)
    this.#alarms.plan(waiter.tenant)
    this.#keepPolling()
  }

  /** Calls back when the task has ended or is parked. Returns an unsubscribe function. */
  watch(tenant: number, taskId: string, onRest: () => void): () => void {
    this.#keepPolling()
    return this.#watchers.add(tenant, taskId, onRest)
  }

  /**
   * A command that creates a task waits for a commit. A claim that waits for such a task is woken now, so that it is in the
   * same batch: the task is then assigned by the commit that creates it.
   */
  expected(create: Create): void {
    const { tenant, type, capabilities, priority, delay_ms, question, refusal, block, limit, rate } = create
    if (!this.claims.has(tenant) || delay_ms > 0) return
    if (question !== null || refusal !== undefined || block !== undefined) return
    const name = laneName(type, capabilities, priority, limit?.limited, rate?.rated)
    const lane = this.#deps.directory.of(tenant).find(name)
    if (lane !== undefined) this.claims.ready(lane, 1)
  }

  committed(batch: Batch, events: readonly TaskEvent[]): void {
    for (const event of events) {
      if (isAtRest(event.status)) this.#watchers.rests(event.tenant, event.task_id)
      if (event.wake_at !== null) this.#alarms.set(event.tenant, event.wake_at - event.at)
    }
    for (const { tenant, active_leases } of batch.tenants()) this.#count(tenant, active_leases)
    if (this.claims.isEmpty) return
    for (const { tenant } of batch.tenants()) this.#planRate(tenant)
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
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#alarms.stop()
    for (const timer of this.#rateTimers.values()) clearTimeout(timer)
    this.#rateTimers.clear()
    this.claims.release()
    this.#watchers.release()
  }

  /** Claims that wait for tasks of a full rate are woken when its window ends. */
  #planRate(tenant: number): void {
    if (this.stopped || this.#rateTimers.has(tenant)) return
    const next = this.#deps.directory.of(tenant).rates.next()
    if (next === undefined) return
    const ring = () => {
      this.#rateTimers.delete(tenant)
      if (!this.claims.has(tenant)) return
      const lanes = this.#deps.directory.of(tenant)
      // If the window was found to have ended already, its claims have been woken.
      for (const lane of lanes.rates.next()?.lanes ?? []) {
        const row = lanes.get(lane)
        if (row !== undefined && row.type !== null && row.mark !== null) this.claims.lookInto(row)
      }
      this.#rateTimers.set(
        tenant,
        setTimeout(() => this.#replan(tenant), REPLAN_MS),
      )
    }
    this.#rateTimers.set(tenant, setTimeout(ring, Math.min(next.ms, MAX_TIMER_MS) + 1))
  }

  #replan(tenant: number): void {
    this.#rateTimers.delete(tenant)
    if (this.claims.has(tenant)) this.#planRate(tenant)
  }

  /** A lease that ends makes room for claims that were limited by the quota. */
  #count(tenant: number, leases: number): void {
    const limit = this.#deps.settingsOf(tenant).max_concurrent_leases
    if (limit < 0) return
    if (leases >= limit) this.#full.add(tenant)
    else if (this.#full.delete(tenant)) this.claims.look(tenant)
  }

  /** Polls while claims or waits exist. Without other processes it is not needed. */
  #keepPolling(): void {
    if (this.#deps.store.shared) this.#timer ??= setInterval(() => void this.#poll(), POLL_INTERVAL_MS)
  }

  async #poll(): Promise<void> {
    if (this.claims.isEmpty && this.#watchers.isEmpty) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#polled.clear()
      return
    }
    await Promise.all([
      ...this.claims.tenants().map((tenant) => this.#pollTenant(tenant)),
      this.#checkWatched(),
    ])
  }

  /** One row shows whether another process has committed since the last poll. */
  async #pollTenant(tenant: number): Promise<void> {
    try {
      const { seq, active_leases, lanes_version } = await this.#deps.store.reads.counters(tenant)
      this.#count(tenant, active_leases)
      if (lanes_version !== this.#deps.directory.of(tenant).version) await this.#catchUp(tenant)
      if (seq === this.#polled.get(tenant)) return
      this.#polled.set(tenant, seq)
      await this.#alarms.check(tenant)
    } catch (error) {
      this.#deps.report(error)
    }
  }

  /** Loads lanes that other processes have changed, one load at a time: many hints may arrive together. */
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

  /** In a shared database another process may have ended or parked the task, and its hint may be lost. */
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

/** Whether the task has ended or is parked. */
export function isAtRest(status: Status): boolean {
  return isTerminal(status) || isParked(status)
}
