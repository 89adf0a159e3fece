/** A count is used for this time without asking the store. */
const FRESH_MS = 800
/** After this time the store is asked in the background, so that requests do not wait for it. */
export const REFRESH_MS = 400

interface Checked {
  changes: number
  /** When the count was read. */
  at: number
  checking: Promise<void> | undefined
}

/**
 * The number of changes of credentials of each tenant. A credential that was found with the present number is still valid,
 * so that a revocation, by any server, takes effect within a second and costs one small read per tenant.
 */
export class ChangeCounts {
  readonly #read: (tenant: number) => Promise<number>
  readonly #report: (error: unknown) => void
  readonly #tenants = new Map<number, Checked>()

  constructor(read: (tenant: number) => Promise<number>, report: (error: unknown) => void) {
    this.#read = read
    this.#report = report
  }

  /** The count, if it was read recently enough. */
  recent(tenant: number): number | undefined {
    const checked = this.#tenants.get(tenant)
    if (checked === undefined) return undefined
    const age = performance.now() - checked.at
    if (age > REFRESH_MS) this.#check(tenant, checked).catch(this.#report)
    return age < FRESH_MS ? checked.changes : undefined
  }

  async current(tenant: number): Promise<number> {
    let checked = this.#tenants.get(tenant)
    if (checked === undefined) {
      checked = { changes: 0, at: Number.NEGATIVE_INFINITY, checking: undefined }
      this.#tenants.set(tenant, checked)
    }
    if (performance.now() - checked.at >= FRESH_MS) await this.#check(tenant, checked)
    return checked.changes
  }

  #check(tenant: number, checked: Checked): Promise<void> {
    checked.checking ??= this.#readInto(tenant, checked).finally(() => {
      checked.checking = undefined
    })
    return checked.checking
  }

  async #readInto(tenant: number, checked: Checked): Promise<void> {
    const at = performance.now()
    checked.changes = await this.#read(tenant)
    checked.at = at
  }
}
