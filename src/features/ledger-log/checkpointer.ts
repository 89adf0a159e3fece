import type { Store, TenantRef } from '../../store/store.ts'
import { Repeater } from '../../util/repeater.ts'
import type { LedgerLogs } from './ledger-log.ts'

const STOP_MS = 3_000
/** How often the tenants that this server has not written to are checked: another server may have ended too early. */
const ALL_TENANTS_MS = 3_600_000

interface Deps {
  readonly logs: Pick<LedgerLogs, 'latest' | 'extend'>
  readonly store: Pick<Store, 'tenants' | 'now'>
  report(error: unknown): void
}

/**
 * Makes checkpoints behind the commits. Servers that share a database need no leader: the tree follows from the
 * receipts, so two of them compute the same, and one that finds a recent checkpoint leaves the rest to the next round.
 */
export class Checkpointer {
  readonly #deps: Deps
  readonly #intervalMs: number
  readonly #repeater: Repeater
  /** Tenants with receipts that no checkpoint is known to cover. */
  readonly #pending = new Set<number>()
  #tenants = new Map<number, TenantRef>()
  #checkedAllAt = Number.NEGATIVE_INFINITY

  constructor(deps: Deps, intervalSeconds: number) {
    this.#deps = deps
    this.#intervalMs = intervalSeconds * 1000
    this.#repeater = new Repeater(
      this.#intervalMs,
      (signal) => this.run(signal),
      (error) => deps.report(error),
    )
  }

  /** A commit has added receipts. */
  committed(tenant: number): void {
    this.#pending.add(tenant)
  }

  start(): void {
    this.#repeater.wake()
  }

  stop(): Promise<void> {
    return this.#repeater.stop(STOP_MS)
  }

  /** One round over the tenants with new receipts. */
  async run(signal?: AbortSignal): Promise<void> {
    await this.#findTenants()
    for (const tenant of [...this.#pending]) {
      if (signal?.aborted) return
      const known = this.#tenants.get(tenant)
      if (known === undefined) continue
      // Receipts that are committed from here on are for the next round.
      this.#pending.delete(tenant)
      try {
        if (await this.#isRecent(known)) this.#pending.add(tenant)
        else await this.#deps.logs.extend(known)
      } catch (error) {
        this.#pending.add(tenant)
        this.#deps.report(error)
      }
    }
  }

  async #isRecent(tenant: TenantRef): Promise<boolean> {
    const latest = await this.#deps.logs.latest(tenant)
    return latest !== undefined && (await this.#deps.store.now()) - latest.created_at < this.#intervalMs / 2
  }

  async #findTenants(): Promise<void> {
    const isTime = performance.now() - this.#checkedAllAt >= ALL_TENANTS_MS
    if (!isTime && [...this.#pending].every((tenant) => this.#tenants.has(tenant))) return
    const all = await this.#deps.store.tenants()
    this.#tenants = new Map(all.map((tenant) => [tenant.tenant, tenant]))
    if (!isTime) return
    this.#checkedAllAt = performance.now()
    for (const { tenant } of all) this.#pending.add(tenant)
  }
}
