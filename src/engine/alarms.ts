interface Needs {
  /** Milliseconds until the next task of the tenant is due; null if none is. */
  nextWake(tenant: number): Promise<number | null>
  /** Wakes everything that is due. */
  sweep(): Promise<unknown>
  /** Whether a claim waits for tasks of the tenant. */
  isAwaited(tenant: number): boolean
  report(error: unknown): void
}

/** The longest timer. A later due time is looked up again when it fires. */
const MAX_TIMER_MS = 60_000
/** The pause between two sweeps for the same task. */
const PAUSE_MS = 1000

/**
 * Sweeps when the next task of a tenant is due, while claims wait for its tasks: the end of a delay or the expiry of a
 * lease must not wait for the next regular sweep. There is one timer per tenant.
 */
export class Alarms {
  readonly #needs: Needs
  readonly #timers = new Map<number, { readonly timer: NodeJS.Timeout; readonly at: number }>()
  #stopped = false

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** Looks up when the next task is due, unless an alarm is set already. */
  plan(tenant: number): void {
    if (!this.#timers.has(tenant)) void this.check(tenant)
  }

  /** Looks up when the next task is due. */
  async check(tenant: number): Promise<void> {
    try {
      const ms = await this.#needs.nextWake(tenant)
      if (ms !== null) this.set(tenant, ms)
    } catch (error) {
      this.#needs.report(error)
    }
  }

  /** A task of the tenant is due in `ms` milliseconds. */
  set(tenant: number, ms: number): void {
    if (this.#stopped || !this.#needs.isAwaited(tenant)) return
    const at = performance.now() + ms
    const set = this.#timers.get(tenant)
    if (set !== undefined && set.at <= at) return
    clearTimeout(set?.timer)
    const timer = setTimeout(() => void this.#ring(tenant), Math.min(Math.max(0, ms), MAX_TIMER_MS) + 1)
    this.#timers.set(tenant, { timer, at })
  }

  stop(): void {
    this.#stopped = true
    for (const { timer } of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
  }

  async #ring(tenant: number): Promise<void> {
    this.#timers.delete(tenant)
    if (!this.#needs.isAwaited(tenant)) return
    // Failed wakes are reported. A task that is still due after the sweep could not be woken, and is tried again.
    await this.#needs.sweep().catch(() => {})
    const ms = await this.#needs.nextWake(tenant).catch(() => PAUSE_MS)
    if (ms !== null) this.set(tenant, ms > 0 ? ms : PAUSE_MS)
  }
}
