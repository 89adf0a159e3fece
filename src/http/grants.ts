import type { OfferView } from '../gate/shapes.ts'

/** What a later call about a lease leaves out in the older protocols. */
export interface Grant {
  readonly task_id: string
  readonly worker_id: string
  readonly worker_kind?: string
}

const MAX_GRANTS = 50_000

/**
 * Leases that this process handed out over a protocol whose later calls name less than the gate needs. It only fills
 * in names: the gate checks them as if the client had sent them. The oldest are forgotten first.
 */
export class Grants {
  readonly #byLease = new Map<string, Grant>()

  add(offer: OfferView, worker_id: string, worker_kind: unknown): void {
    const { task_id, lease_id } = offer
    const kind = typeof worker_kind === 'string' ? { worker_kind } : {}
    this.#byLease.set(lease_id, { task_id, worker_id, ...kind })
    if (this.#byLease.size <= MAX_GRANTS) return
    for (const oldest of this.#byLease.keys()) {
      this.#byLease.delete(oldest)
      return
    }
  }

  find(leaseId: unknown): Grant | undefined {
    return typeof leaseId === 'string' ? this.#byLease.get(leaseId) : undefined
  }
}
