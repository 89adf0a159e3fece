import { randomBytes } from 'node:crypto'
import type { BatchUsage } from '../../engine/events.ts'
import { HOUR_MS, hourOf, type UsageEvent } from '../../store/usage.ts'

interface Counts {
  readonly id: string
  tasks: number
  lease_ms: number
  receipt_bytes: number
  receipt_byte_ms: number
  calls: number
}

/**
 * What this process counts between two writes, per tenant. A period lies within one hour, so that its counts can be added
 * to those of the hour. Calls are counted by the name of the tenant, because its number may not be known yet.
 */
export class UsagePeriod {
  readonly from: number
  /** The end of the hour. */
  readonly #end: number
  #to: number
  readonly #counts = new Map<number, Counts>()
  readonly #calls = new Map<string, number>()

  constructor(from: number) {
    this.from = from
    this.#end = hourOf(from) + HOUR_MS
    this.#to = this.#end
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0 && this.#calls.size === 0
  }

  /** Whether the hour of the period is over. */
  isOver(now: number): boolean {
    return now >= this.#end
  }

  /** Nothing is counted any more. */
  end(at: number): void {
    this.#to = Math.max(this.from, Math.min(at, this.#end))
  }

  committed({ tenant, tasks, lease_ms, receipt_bytes }: BatchUsage, at: number): void {
    // Sweeps that find nothing commit too.
    if (tasks === 0 && lease_ms === 0 && receipt_bytes === 0) return
    const counts = this.#of(tenant)
    counts.tasks += tasks
    counts.lease_ms += lease_ms
    counts.receipt_bytes += receipt_bytes
    // A clock that was set back does not count more than the hour.
    counts.receipt_byte_ms += receipt_bytes * Math.min(HOUR_MS, this.#end - at)
  }

  called(tenant: string): void {
    this.#calls.set(tenant, (this.#calls.get(tenant) ?? 0) + 1)
  }

  /** The events of a period that has ended, with the same ids on each call. It may be called again if it has rejected. */
  async events(instance: string, numberOf: (tenant: string) => Promise<number>): Promise<UsageEvent[]> {
    for (const [name, calls] of [...this.#calls]) {
      const counts = this.#of(await numberOf(name))
      counts.calls += calls
      this.#calls.delete(name)
    }
    return [...this.#counts].map(([tenant, { id, receipt_byte_ms, ...counts }]) => ({
      tenant,
      id,
      from_at: this.from,
      to_at: this.#to,
      instance,
      ...counts,
      receipt_byte_seconds: Math.round(receipt_byte_ms / 1000),
    }))
  }

  #of(tenant: number): Counts {
    const known = this.#counts.get(tenant)
    if (known !== undefined) return known
    const id = `${usageIdAt(this.from)}${randomBytes(8).toString('hex')}`
    const counts = { id, tasks: 0, lease_ms: 0, receipt_bytes: 0, receipt_byte_ms: 0, calls: 0 }
    this.#counts.set(tenant, counts)
    return counts
  }
}

/** Ids sort by time: the least id of a period that starts at this time. The rest of an id makes it unique. */
export function usageIdAt(at: number): string {
  return Math.max(0, at).toString(16).padStart(12, '0')
}
