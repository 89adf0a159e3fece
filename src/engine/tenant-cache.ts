/** How often what other processes may have changed is read anew. */
const READ_EVERY_MS = 2000

/** Tenants that nobody has asked about for so many readings are forgotten. */
const IDLE_READINGS = 30

interface Kept<Copy> {
  copy: Copy
  /** Which of the readings it is from. */
  reading: number
  idle: number
}

export interface CopySource<Copy> {
  /** Whether other processes may change what is copied. */
  readonly shared: boolean
  read(tenant: number, before: Copy | undefined): Promise<Copy>
  /** A copy was replaced. */
  replaced?(tenant: number, copy: Copy, before: Copy): void
  report(error: unknown): void
}

/**
 * A copy in memory of a small part of the store, by tenant. It is read once, again after each change made here, and
 * every two seconds for the changes of other processes, so that whoever looks at it never waits.
 */
export class TenantCopies<Copy> {
  readonly #source: CopySource<Copy>
  readonly #kept = new Map<number, Kept<Copy>>()
  readonly #loading = new Map<number, Promise<Copy>>()
  /** What `fresh` is reading, and what it will read after that. */
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

  /** Reads it anew. */
  async refresh(tenant: number): Promise<Copy> {
    const reading = ++this.#readings
    const copy = await this.#source.read(tenant, this.#kept.get(tenant)?.copy)
    const kept = this.#kept.get(tenant)
    // One that began later knows more.
    if (kept !== undefined && kept.reading > reading) return kept.copy
    this.#kept.set(tenant, { copy, reading, idle: kept?.idle ?? 0 })
    this.#keepReading()
    if (kept !== undefined) this.#source.replaced?.(tenant, copy, kept.copy)
    return copy
  }

  /**
   * A copy with every change that was made before this call, by any process. If only this one makes changes, that is the copy
   * at hand. Otherwise it is read: those who ask while another is being read share the next one.
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

  /** Reads no more by itself. Resolves when nobody waits for a copy. */
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
    }, READ_EVERY_MS)
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
