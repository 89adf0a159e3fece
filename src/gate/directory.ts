import { type Lane, laneName, looksAt, type Wanted } from '../core/matching.ts'

/**
 * The lanes of the tenants, in memory. Lanes are only ever added, and numbered 1, 2, 3, ... within a tenant, so
 * knowing how many there are is knowing whether this copy is complete.
 */
export class Directory {
  #tenants = new Map<number, TenantLanes>()

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
  #lanes: Lane[] = []
  #byName = new Map<string, Lane>()

  /** How many of the lanes are pools. */
  pools = 0

  get count(): number {
    return this.#lanes.length
  }

  /** Adds lanes in the order of their numbers; those it knows are skipped. */
  add(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      if (lane.lane !== this.count + 1) continue
      this.#lanes.push(lane)
      if (lane.type === null) this.pools++
      this.#byName.set(laneName(lane.type, lane.capabilities, lane.priority), lane)
    }
  }

  get(lane: number): Lane | undefined {
    return this.#lanes[lane - 1]
  }

  find(name: string): Lane | undefined {
    return this.#byName.get(name)
  }

  /** The lanes that a claim looks at. */
  matching(wanted: Wanted): Lane[] {
    return this.#lanes.filter((lane) => looksAt(lane, wanted))
  }
}
