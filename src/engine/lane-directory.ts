import { type LaneRow, laneName } from '../core/matching.ts'
import type { PrincipalKey } from '../core/principal.ts'
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
  /** Whether another process has changed lanes recently. Then changes are loaded with the first round. */
  isContended = false
  readonly ready = new ReadyLanes()
  readonly #rows = new Map<number, LaneRow>()
  readonly #byName = new Map<string, number>()
  readonly #occupied = new Map<PrincipalKey, number>()
  /** Lanes and pools without tasks, in the order in which they became empty. */
  readonly #empty = { lanes: new Set<number>(), pools: new Set<number>() }

  /** Applies committed rows that are newer than the copy. Returns the applied ones. */
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
  // A row whose counts alone have changed shares the array of capabilities.
  return a.type === b.type && a.priority === b.priority && a.capabilities === b.capabilities
}

function kindOf({ type }: LaneRow): 'lanes' | 'pools' {
  return type === null ? 'pools' : 'lanes'
}
