import type { LaneRow } from '../core/matching.ts'

/** The lanes that share a rate, and its current window. */
interface Rate {
  limit: number
  ms: number
  /** Of the row that set the limit: the newest one counts. */
  version: number
  /** When the window began. */
  at: number
  /** The leases that started in it. */
  started: number
  readonly lanes: Set<number>
}

/** The rates of one tenant. A window begins with the first lease after the end of the window before. */
export class RateWindows {
  /** The time of the store, when it was last known. */
  now = 0
  #knownAt = 0
  readonly #rates = new Map<string, Rate>()
  /** Rates that have reached their limit. */
  readonly #full = new Map<string, Rate>()

  /** Notes the time of the store. Returns the lanes whose window has ended. */
  advance(now: number): number[] {
    this.now = now
    this.#knownAt = performance.now()
    if (this.#full.size === 0) return NONE
    const ended: number[] = []
    for (const [rated, rate] of this.#full) {
      if (now < rate.at + rate.ms) continue
      this.#full.delete(rated)
      ended.push(...rate.lanes)
    }
    return ended
  }

  /** The number of rates that have reached their limit. */
  get fullCount(): number {
    return this.#full.size
  }

  /** Milliseconds until the first full window ends, and its lanes; undefined if none is full. */
  next(): { readonly ms: number; readonly lanes: ReadonlySet<number> } | undefined {
    let first: Rate | undefined
    for (const rate of this.#full.values()) {
      if (first === undefined || rate.at + rate.ms < first.at + first.ms) first = rate
    }
    if (first === undefined) return undefined
    const elapsed = performance.now() - this.#knownAt
    return { ms: Math.max(0, first.at + first.ms - this.now - elapsed), lanes: first.lanes }
  }

  isFull(rated: string | null): boolean {
    return rated !== null && this.#full.has(rated)
  }

  /** How many more leases may start now, and the beginning of their window. */
  window(rated: string, now: number): { readonly at: number; readonly room: number } {
    const rate = this.#rates.get(rated)
    if (rate === undefined) return { at: now, room: Number.MAX_SAFE_INTEGER }
    if (now >= rate.at + rate.ms) return { at: now, room: rate.limit }
    return { at: rate.at, room: rate.limit - rate.started }
  }

  /** Whether leases of the lane are counted in a window that has not ended. */
  isCounted({ rated, rate }: LaneRow): boolean {
    return rated !== null && rate !== null && rate.started > 0 && this.now < rate.at + rate.seconds * 1000
  }

  /** Returns the other lanes of the rate if their state has changed. */
  join({ lane, rate: row, version }: LaneRow, rated: string): ReadonlySet<number> {
    const fresh = { limit: Number.MAX_SAFE_INTEGER, ms: 0, version: -1, at: 0, started: 0 }
    const rate = this.#rates.get(rated) ?? { ...fresh, lanes: new Set<number>() }
    this.#rates.set(rated, rate)
    rate.lanes.add(lane)
    if (row !== null) {
      if (version >= rate.version) {
        rate.limit = row.limit
        rate.ms = row.seconds * 1000
        rate.version = version
      }
      if (row.at > rate.at) {
        rate.at = row.at
        rate.started = row.started
      } else if (row.at === rate.at) rate.started += row.started
    }
    return this.#settle(rate, rated)
  }

  quit({ lane, rate: row }: LaneRow, rated: string): void {
    const rate = this.#rates.get(rated)
    if (rate === undefined) return
    rate.lanes.delete(lane)
    if (row !== null && row.at === rate.at) rate.started -= row.started
    if (rate.lanes.size > 0) return
    this.#rates.delete(rated)
    this.#full.delete(rated)
  }

  #settle(rate: Rate, rated: string): ReadonlySet<number> {
    const isFull = rate.started >= rate.limit && this.now < rate.at + rate.ms
    if (isFull === this.#full.has(rated)) return NO_LANES
    if (isFull) this.#full.set(rated, rate)
    else this.#full.delete(rated)
    return rate.lanes
  }
}

const NONE: number[] = []
const NO_LANES: ReadonlySet<number> = new Set()
