import { type LaneRow, laneName } from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { RateWindows } from './rate-windows.ts'
import { ReadyLanes } from './ready-lanes.ts'

/**
 * The lanes of the tenants, in memory. Every change of a lane takes the next `lanes_version` of its tenant, so that a
 * process finds out under the tenant's lock whether its copy is current, and loads only what others have changed.
 */
export class Directory {
  #tenants = new Map<number, TenantLanes>()
  /** Called with lanes that have ready tasks and were changed by another process. */
  onNews: (lane: LaneRow) => void = () => {}

  /** Applies the changes of other processes. Each change is reported to waiting claims once. */
  learn(tenant: number, rows: readonly LaneRow[]): void {
    for (const row of this.of(tenant).put(rows)) if (row.mark !== null) this.onNews(row)
  }

  /** Notes the time of the store. Claims that wait for lanes whose rate allows leases again are woken. */
  advance(tenant: number, now: number): void {
    for (const row of this.of(tenant).advance(now)) this.onNews(row)
  }

  of(tenant: number): TenantLanes {
    let lanes = this.#tenants.get(tenant)
    if (lanes === undefined) {
      lanes = new TenantLanes()
      this.#tenants.set(tenant, lanes)
    }
    return lanes
  }

  forget(tenant: number): void {
    this.#tenants.delete(tenant)
  }
}

/** The lanes that share a limit. */
interface Limit {
  max_held: number
  /** Of the row that set `max_held`: the newest one counts. */
  version: number
  held: number
  readonly lanes: Set<number>
}

export class TenantLanes {
  /** All changes up to this version are in this copy. */
  version = 0
  /** Whether another process has changed lanes recently. Then changes are loaded with the first round. */
  isContended = false
  /** Lanes with ready tasks, except those whose limit or rate is reached. */
  readonly ready = new ReadyLanes()
  readonly rates = new RateWindows()
  readonly #limits = new Map<string, Limit>()
  readonly #rows = new Map<number, LaneRow>()
  readonly #byName = new Map<string, number>()
  readonly #occupied = new Map<PrincipalKey, number>()
  /** Lanes and pools without tasks, in the order in which they became empty. */
  readonly #empty = { lanes: new Set<number>(), pools: new Set<number>() }

  /** Applies committed rows that are newer than the copy. Returns the applied ones. */
  put(rows: readonly LaneRow[]): LaneRow[] {
    const freed = new Set<Limit>()
    const applied = rows.filter((row) => {
      const before = this.#rows.get(row.lane)
      if (before !== undefined && before.version >= row.version) return false
      if (before === undefined || !isNamesake(before, row)) this.#rename(before, row)
      if (before !== undefined) this.#remove(before)
      this.#add(row)
      if (row.version > this.version) this.version = row.version
      const limit = row.limited === null ? undefined : this.#limits.get(row.limited)
      if (limit !== undefined && before !== undefined && row.held < before.held) freed.add(limit)
      return true
    })
    for (const limit of freed) for (const lane of limit.lanes) applied.push(...this.#others(lane, applied))
    return applied
  }

  /** Notes the time of the store. Lanes whose rate allows leases again are considered again. */
  advance(now: number): LaneRow[] {
    const lanes = this.rates.advance(now)
    for (const lane of lanes) this.#sort(lane)
    return lanes.flatMap((lane) => {
      const row = this.#rows.get(lane)
      return row === undefined || row.type === null || row.mark === null ? [] : [row]
    })
  }

  /** Whether the lane counts leases in the window of its rate, so that its number cannot be reused yet. */
  isCounted(lane: number): boolean {
    const row = this.#rows.get(lane)
    return row !== undefined && this.rates.isCounted(row)
  }

  /** Whether claims consider the lane. */
  #sort(lane: number): void {
    const row = this.#rows.get(lane)
    if (row === undefined || row.mark === null) return
    const hasRoom = row.limited === null || this.room(row.limited) > 0
    if (hasRoom && !this.rates.isFull(row.rated)) this.ready.add(row)
    else this.ready.delete(row)
  }

  /** How many more tasks with this limit may be leased. */
  room(limited: string): number {
    const limit = this.#limits.get(limited)
    return limit === undefined ? Number.MAX_SAFE_INTEGER : limit.max_held - limit.held
  }

  /** The lanes and pools with this limit that have ready tasks. */
  *waiting(limited: string): Generator<LaneRow> {
    for (const lane of this.#limits.get(limited)?.lanes ?? []) {
      const row = this.#rows.get(lane)
      if (row !== undefined && row.mark !== null) yield row
    }
  }

  #others(lane: number, applied: readonly LaneRow[]): LaneRow[] {
    const row = this.#rows.get(lane)
    return row === undefined || applied.includes(row) ? [] : [row]
  }

  get(lane: number): LaneRow | undefined {
    return this.#rows.get(lane)
  }

  find(name: string): LaneRow | undefined {
    const lane = this.#byName.get(name)
    return lane === undefined ? undefined : this.#rows.get(lane)
  }

  /** The number of lanes that count towards the limit of this owner. */
  occupiedBy(owner: PrincipalKey): number {
    return this.#occupied.get(owner) ?? 0
  }

  /** Numbers of empty lanes or pools that can be reused. */
  empty(kind: 'lanes' | 'pools'): Iterator<number> {
    return this.#empty[kind].values()
  }

  #rename(before: LaneRow | undefined, row: LaneRow): void {
    const old = before === undefined ? undefined : nameOf(before)
    // Another lane may have its old name by now.
    if (old !== undefined && this.#byName.get(old) === row.lane) this.#byName.delete(old)
    this.#byName.set(nameOf(row), row.lane)
  }

  #add(row: LaneRow): void {
    this.#rows.set(row.lane, row)
    if (row.limited !== null) this.#join(row, row.limited)
    if (row.rated !== null) for (const lane of this.rates.join(row, row.rated)) this.#sort(lane)
    this.#sort(row.lane)
    if (row.owner !== null) this.#occupied.set(row.owner, this.occupiedBy(row.owner) + 1)
    if (row.tasks === 0) this.#empty[kindOf(row)].add(row.lane)
  }

  #join({ lane, max_held, held, version }: LaneRow, limited: string): void {
    const limit = this.#limits.get(limited) ?? { max_held: 0, version: -1, held: 0, lanes: new Set() }
    const had = limit.max_held - limit.held
    this.#limits.set(limited, limit)
    limit.lanes.add(lane)
    limit.held += held
    if (max_held !== null && version >= limit.version) {
      limit.max_held = max_held
      limit.version = version
    }
    this.#open(limit, had)
  }

  #quit({ lane, held }: LaneRow, limited: string): void {
    const limit = this.#limits.get(limited)
    if (limit === undefined) return
    const had = limit.max_held - limit.held
    limit.lanes.delete(lane)
    limit.held -= held
    if (limit.lanes.size === 0) this.#limits.delete(limited)
    else this.#open(limit, had)
  }

  /** Claims consider the lanes of a limit only while it has room. */
  #open(limit: Limit, had: number): void {
    const has = limit.max_held - limit.held
    if (had > 0 === has > 0) return
    for (const lane of limit.lanes) this.#sort(lane)
  }

  #remove(row: LaneRow): void {
    if (row.mark !== null) this.ready.delete(row)
    if (row.limited !== null) this.#quit(row, row.limited)
    if (row.rated !== null) this.rates.quit(row, row.rated)
    if (row.owner !== null) {
      const left = this.occupiedBy(row.owner) - 1
      if (left > 0) this.#occupied.set(row.owner, left)
      else this.#occupied.delete(row.owner)
    }
    this.#empty[kindOf(row)].delete(row.lane)
  }
}

function nameOf({ type, capabilities, priority, limited, rated }: LaneRow): string {
  return laneName(type, capabilities, priority, limited, rated)
}

function isNamesake(a: LaneRow, b: LaneRow): boolean {
  // A row whose counts alone have changed shares the array of capabilities.
  return (
    a.type === b.type &&
    a.priority === b.priority &&
    a.capabilities === b.capabilities &&
    a.limited === b.limited &&
    a.rated === b.rated
  )
}

function kindOf({ type }: LaneRow): 'lanes' | 'pools' {
  return type === null ? 'pools' : 'lanes'
}
