import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { BatchUsage } from '../../engine/events.ts'
import type { Store, TenantRef } from '../../store/store.ts'
import { HOUR_MS, type UsageEvent } from '../../store/usage.ts'
import { UsagePeriod, usageIdAt } from './usage-period.ts'

const DAY_MS = 24 * HOUR_MS
const STOP_MS = 3_000
const PER_REMOVAL = 500
const REMOVAL_PAUSE_MS = 50
/** Reads of the usage write what was counted, but no more often than this, or each would add an event. */
const MIN_PAUSE_MS = 1_000

const DEFAULT_INTERVAL_SECONDS = 300
const DEFAULT_RETENTION_DAYS = 400

export interface UsageOptions {
  /** How often counts are written. */
  readonly intervalSeconds?: number
  /** How long events are stored. Sums per hour are stored longer. */
  readonly retentionDays?: number
  /** Whether a billing webhook has to send the events. */
  readonly isBilled?: boolean
  readonly now?: () => number
}

interface Deps {
  readonly store: Pick<Store, 'usage' | 'tenants'>
  readonly settings: { readonly instance_id: string }
  tenant(name: string): Promise<TenantRef>
  report(error: unknown): void
}

/**
 * Counts the usage of tenants in memory, and writes what was counted since the last write. What could not be written is
 * written again with the same id, so that it counts once even if the first write has succeeded.
 */
export class UsageRecorder {
  readonly #deps: Deps
  readonly #options: UsageOptions
  readonly #now: () => number
  #period: UsagePeriod
  /** Periods that have ended, oldest first. They have no events yet. */
  #ended: UsagePeriod[] = []
  /** Events that are not known to be written, oldest first. */
  #unwritten: UsageEvent[] = []
  #flushing: Promise<void> = Promise.resolve()
  #ticking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #flushedAt = 0
  #nextSweep: number
  #isStopped = false
  #onWritten: () => void = () => {}

  constructor(deps: Deps, options: UsageOptions = {}) {
    this.#deps = deps
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#period = new UsagePeriod(this.#now())
    this.#nextSweep = this.#now() + HOUR_MS
  }

  /** A caller of the tenant has called an operation. */
  called(tenant: string): void {
    this.#current(this.#now()).called(tenant)
  }

  /** A batch became durable. */
  committed(usage: readonly BatchUsage[]): void {
    const now = this.#now()
    const period = this.#current(now)
    for (const part of usage) period.committed(part, now)
  }

  /** Receipts were erased or archived, so that the tenant stores less. */
  freed(tenant: number, bytes: number): void {
    if (bytes !== 0) this.committed([{ tenant, tasks: 0, lease_ms: 0, receipt_bytes: -bytes }])
  }

  /** The listener is called when events were written. */
  onWritten(listener: () => void): void {
    this.#onWritten = listener
  }

  /** Writes at intervals, and removes events after their retention period. */
  start(): void {
    if (this.#isStopped) return
    const { intervalSeconds = DEFAULT_INTERVAL_SECONDS } = this.#options
    this.#timer = setTimeout(() => {
      this.#ticking = this.#tick().then(() => this.start())
    }, intervalSeconds * 1000)
    this.#timer.unref()
  }

  /** Writes everything counted so far. Resolves also if that failed: it is then tried again later. */
  flush(): Promise<void> {
    this.#flushedAt = this.#now()
    this.#flushing = this.#flushing.then(() => this.#write()).catch((error) => this.#deps.report(error))
    return this.#flushing
  }

  /** Writes everything counted so far, unless a write has begun within the last second. */
  async refresh(): Promise<void> {
    await (Math.abs(this.#now() - this.#flushedAt) < MIN_PAUSE_MS ? this.#flushing : this.flush())
  }

  /** Resolves with the number of removed events. Small steps leave the database to others. */
  async sweep(now = this.#now()): Promise<number> {
    const { retentionDays = DEFAULT_RETENTION_DAYS } = this.#options
    const before = usageIdAt(now - retentionDays * DAY_MS)
    let removed = 0
    for (const { tenant } of await this.#deps.store.tenants()) {
      for (let count = PER_REMOVAL; count === PER_REMOVAL && !this.#isStopped; ) {
        count = await this.#deps.store.usage.removeBefore(tenant, before, PER_REMOVAL)
        removed += count
        if (count === PER_REMOVAL) await delay(REMOVAL_PAUSE_MS)
      }
    }
    return removed
  }

  /** Writes everything, within a few seconds. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    const late = new AbortController()
    const stored = this.#ticking.then(() => this.flush())
    await Promise.race([stored, delay(STOP_MS, undefined, { signal: late.signal }).catch(() => {})])
    late.abort()
    if (this.#unwritten.length + this.#ended.length > 0 || !this.#period.isEmpty) {
      this.#deps.report(new Error('the usage since the last write could not be stored'))
    }
  }

  async #tick(): Promise<void> {
    await this.flush()
    if (this.#now() < this.#nextSweep) return
    this.#nextSweep = this.#now() + HOUR_MS
    await this.sweep().catch((error) => this.#deps.report(error))
  }

  /** The period that counts now. */
  #current(now: number): UsagePeriod {
    if (this.#period.isOver(now)) this.#end(now)
    return this.#period
  }

  #end(now: number): void {
    this.#period.end(now)
    if (!this.#period.isEmpty) this.#ended.push(this.#period)
    this.#period = new UsagePeriod(now)
  }

  async #write(): Promise<void> {
    await this.#writeEnded()
    // Not before: while the database is down, one period grows instead of a list of them.
    this.#end(this.#now())
    await this.#writeEnded()
  }

  async #writeEnded(): Promise<void> {
    await this.#writeEvents()
    for (let [period] = this.#ended; period !== undefined; [period] = this.#ended) {
      const events = await period.events(this.#deps.settings.instance_id, async (name) => {
        const { tenant } = await this.#deps.tenant(name)
        return tenant
      })
      this.#ended.shift()
      this.#unwritten.push(...events)
      await this.#writeEvents()
    }
  }

  async #writeEvents(): Promise<void> {
    if (this.#unwritten.length === 0) return
    const { isBilled = false } = this.#options
    for (let [event] = this.#unwritten; event !== undefined; [event] = this.#unwritten) {
      await this.#deps.store.usage.add(event, isBilled)
      this.#unwritten.shift()
      // SQLite writes at once. Requests must not wait for the events of all tenants.
      await nextTurn()
    }
    this.#onWritten()
  }
}
