/** The default interval at which changes of other processes are read. */
const READ_EVERY_MS = 2000

/** A tenant that was not used for this number of intervals is dropped. */
const IDLE_READINGS = 30

interface Kept<Copy> {
  copy: Copy
  /** The number of the read that returned it. */
  reading: number
  idle: number
}

export interface CopySource<Copy> {
  /** Whether other processes may change the records. */
  readonly shared: boolean
  /** The interval at which their changes are read; two seconds by default. */
  readonly readEveryMs?: number | undefined
  read(tenant: number, before: Copy | undefined): Promise<Copy>
  /** A copy was replaced. */
  replaced?(tenant: number, copy: Copy, before: Copy): void
  report(error: unknown): void
}

/**
 * A copy in memory of a small part of the store, by tenant. It is read once, after each change made by this process, and
 * periodically for the changes of other processes, so that readers never wait.
 */
export class TenantCopies<Copy> {
  readonly #source: CopySource<Copy>
  readonly #kept = new Map<number, Kept<Copy>>()
  readonly #loading = new Map<number, Promise<Copy>>()
  /** The current read of `fresh`, and the one that follows. */
  readonly #current = new Map<number, Promise<Copy>>()
  readonly #next = new Map<number, Promise<Copy>>()
  #readings = 0
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(source: CopySource<Copy>) {
    this.#source = source
  }

  /** Undefined until it is loaded. */
  known(tenant: number): Copy | undefined {
    const kept = this.#kept.get(tenant)
    if (kept === undefined) return undefined
    kept.idle = 0
    return kept.copy
  }

  load(tenant: number): Promise<Copy> {
    const loading = this.#loading.get(tenant) ?? this.refresh(tenant)
    this.#loading.set(tenant, loading)
    return loading.finally(() => this.#loading.delete(tenant))
  }

  /** Reads the store. */
  async refresh(tenant: number): Promise<Copy> {
    const reading = ++this.#readings
    const copy = await this.#source.read(tenant, this.#kept.get(tenant)?.copy)
    const kept = this.#kept.get(tenant)
    // A read that started later is newer.
    if (kept !== undefined && kept.reading > reading) return kept.copy
    this.#kept.set(tenant, { copy, reading, idle: kept?.idle ?? 0 })
    this.#keepReading()
    if (kept !== undefined) this.#source.replaced?.(tenant, copy, kept.copy)
    return copy
  }

  /**
   * A copy with every change that was made before this call, by any process. If only this process makes changes, that is
   * the current copy. Otherwise the store is read: calls during a read share the next one.
   */
  fresh(tenant: number): Promise<Copy> {
    const known = this.#source.shared ? undefined : this.known(tenant)
    if (known !== undefined) return Promise.resolve(known)
    const next = this.#next.get(tenant)
    if (next !== undefined) return next
    const current = this.#current.get(tenant) ?? Promise.resolve()
    const begun = current.then(
      () => this.#begin(tenant),
      () => this.#begin(tenant),
    )
    this.#next.set(tenant, begun)
    return begun
  }

  #begin(tenant: number): Promise<Copy> {
    this.#next.delete(tenant)
    const reading = this.refresh(tenant)
    this.#current.set(tenant, reading)
    return reading.finally(() => {
      if (this.#current.get(tenant) === reading) this.#current.delete(tenant)
    })
  }

  /** Stops the periodic reads. Resolves when no read is in progress. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await Promise.allSettled([
      this.#running,
      ...this.#loading.values(),
      ...this.#current.values(),
      ...this.#next.values(),
    ])
  }

  #keepReading(): void {
    if (!this.#source.shared || this.#stopped || this.#timer !== undefined) return
    this.#timer = setInterval(() => {
      this.#running ??= this.#readAgain().finally(() => {
        this.#running = undefined
      })
    }, this.#source.readEveryMs ?? READ_EVERY_MS)
    this.#timer.unref()
  }

  async #readAgain(): Promise<void> {
    for (const [tenant, kept] of this.#kept) {
      if (this.#stopped) return
      if (++kept.idle > IDLE_READINGS) this.#kept.delete(tenant)
      else await this.refresh(tenant).catch((error) => this.#source.report(error))
    }
    if (this.#kept.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
