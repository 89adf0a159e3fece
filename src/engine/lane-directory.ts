import { type LaneRow, laneName } from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
import { ReadyLanes } from './ready-lanes.ts'

/**
 * The lanes of the tenants, in memory. Every change of a lane takes the next `lanes_version` of its tenant, so that a
 * process finds out under the tenant's lock whether its copy is current, and loads only what others have changed.
 */
export class Directory {
  #tenants = new Map<number, TenantLanes>()
  /** Told of lanes with ready tasks that another process has changed. */
  onNews: (lane: LaneRow) => void = () => {}

  /** Takes over what others have changed. Whoever learns of it first tells those who wait: it is news only once. */
  learn(tenant: number, rows: readonly LaneRow[]): void {
    for (const row of this.of(tenant).put(rows)) if (row.mark !== null) this.onNews(row)
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

export class TenantLanes {
  /** All changes up to this version are in this copy. */
  version = 0
  /** Whether another process has changed lanes of late: then the changes are best loaded ahead. */
  isContended = false
  readonly ready = new ReadyLanes()
  readonly #rows = new Map<number, LaneRow>()
  readonly #byName = new Map<string, number>()
  readonly #occupied = new Map<PrincipalKey, number>()
  /** Lanes and pools without tasks, in the order in which they became empty. */
  readonly #empty = { lanes: new Set<number>(), pools: new Set<number>() }

  /** Takes over committed rows, unless it has newer ones. Returns those that it took. */
  put(rows: readonly LaneRow[]): LaneRow[] {
    return rows.filter((row) => {
      const before = this.#rows.get(row.lane)
      if (before !== undefined && before.version >= row.version) return false
      if (before === undefined || !isNamesake(before, row)) this.#rename(before, row)
      if (before !== undefined) this.#remove(before)
      this.#add(row)
      if (row.version > this.version) this.version = row.version
      return true
    })
  }

  get(lane: number): LaneRow | undefined {
    return this.#rows.get(lane)
  }

  find(name: string): LaneRow | undefined {
    const lane = this.#byName.get(name)
    return lane === undefined ? undefined : this.#rows.get(lane)
  }

  /** How many lanes count towards the limit of this owner. */
  occupiedBy(owner: PrincipalKey): number {
    return this.#occupied.get(owner) ?? 0
  }

  /** Numbers that may be given to another lane, or pool. */
  empty(kind: 'lanes' | 'pools'): Iterator<number> {
    return this.#empty[kind].values()
  }

  #rename(before: LaneRow | undefined, row: LaneRow): void {
    const old = before === undefined ? undefined : nameOf(before)
    // Its old name may by now be that of another lane.
    if (old !== undefined && this.#byName.get(old) === row.lane) this.#byName.delete(old)
    this.#byName.set(nameOf(row), row.lane)
  }

  #add(row: LaneRow): void {
    this.#rows.set(row.lane, row)
    if (row.mark !== null) this.ready.add(row)
    if (row.owner !== null) this.#occupied.set(row.owner, this.occupiedBy(row.owner) + 1)
    if (row.tasks === 0) this.#empty[kindOf(row)].add(row.lane)
  }

  #remove(row: LaneRow): void {
    if (row.mark !== null) this.ready.delete(row)
    if (row.owner !== null) {
      const left = this.occupiedBy(row.owner) - 1
      if (left > 0) this.#occupied.set(row.owner, left)
      else this.#occupied.delete(row.owner)
    }
    this.#empty[kindOf(row)].delete(row.lane)
  }
}

function nameOf({ type, capabilities, priority }: LaneRow): string {
  return laneName(type, capabilities, priority)
}

function isNamesake(a: LaneRow, b: LaneRow): boolean {
  // The capabilities of a row that was only counted anew are the same array.
  return a.type === b.type && a.priority === b.priority && a.capabilities === b.capabilities
}

function kindOf({ type }: LaneRow): 'lanes' | 'pools' {
  return type === null ? 'pools' : 'lanes'
}
