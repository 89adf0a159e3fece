import { DEFAULT_TENANT } from '../../core/principal.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import type { OfferKind } from '../../features/upstreams/reads.ts'
import type { TenantUpstreams } from '../../features/upstreams/upstreams.ts'
import type { Store, TenantRef } from '../../store/store.ts'
import { Upstreams, type UpstreamsOptions } from './upstreams.ts'

/** An entry of the default tenant, named like a tenant that has had an upstream. Every server opens such tenants. */
const MARK_KIND = 'upstream_tenant'
const PAGE = 200

/** Each upstream is at least one connection. */
const MAX_UPSTREAMS_OF_SERVER = 1000

interface TenantRegistriesOptions {
  readonly store: Pick<Store, 'entries' | 'tenant' | 'shared'>
  /** The tenants with upstreams in the operator's file. */
  readonly fixed: readonly string[]
  readonly optionsOf: (tenant: string) => Omit<UpstreamsOptions, 'storage' | 'hasRoom'>
  readonly report: (error: unknown) => void
}

interface Opened {
  readonly tenant: TenantRef
  readonly upstreams: Upstreams
}

type OpenedListener = (opened: Opened) => Promise<void>

/**
 * The upstreams of each tenant. The registries of all tenants that have upstreams are open, so that their calls are made
 * even if no client of the tenant is connected to this server.
 */
export class TenantRegistries implements TenantUpstreams {
  readonly #options: TenantRegistriesOptions
  readonly #marks: TenantCopies<ReadonlySet<string>>
  readonly #byNumber = new Map<number, Opened>()
  readonly #byName = new Map<string, Opened>()
  readonly #opening = new Map<string, Promise<Opened>>()
  readonly #toolListeners = new Set<() => void>()
  readonly #offerListeners = new Set<(kind: Exclude<OfferKind, 'completions'>) => void>()
  readonly #announced = new Set<Opened>()
  #onOpened: OpenedListener | undefined
  #isClosed = false

  constructor(options: TenantRegistriesOptions) {
    this.#options = options
    this.#marks = new TenantCopies({
      shared: options.store.shared,
      read: (tenant) => this.#readMarks(tenant),
      replaced: (_tenant, marks) => void this.#openAll(marks).catch(options.report),
      report: options.report,
    })
  }

  /** Opens the registries and starts to connect, without waiting for any upstream. */
  async start(): Promise<void> {
    const { store, fixed } = this.#options
    const { tenant } = await store.tenant(DEFAULT_TENANT)
    const marks = await this.#marks.refresh(tenant)
    await this.#openAll([DEFAULT_TENANT, ...fixed, ...marks])
  }

  /** The listener is called for each open registry now, and for every other one when it is opened. */
  async onOpened(listener: OpenedListener): Promise<void> {
    this.#onOpened = listener
    for (const opened of this.all) await this.#announce(opened)
  }

  /** Closes all connections; running calls fail. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#marks.stop()
    await Promise.allSettled(this.#opening.values())
    await Promise.all([...this.#byNumber.values()].map(({ upstreams }) => upstreams.close()))
  }

  /** The open registries. */
  get all(): readonly Opened[] {
    return [...this.#byNumber.values()]
  }

  of(tenant: number): Upstreams | undefined {
    return this.#byNumber.get(tenant)?.upstreams
  }

  named(tenant: string): Upstreams | undefined {
    return this.#byName.get(tenant)?.upstreams
  }

  async open({ name }: TenantRef): Promise<Upstreams> {
    // The mark is written before the first upstream, so that no server misses it.
    if (name !== DEFAULT_TENANT) await this.#mark(name)
    return (await this.#open(name)).upstreams
  }

  onTools(listener: () => void): () => void {
    this.#toolListeners.add(listener)
    return () => this.#toolListeners.delete(listener)
  }

  onOffers(listener: (kind: Exclude<OfferKind, 'completions'>) => void): () => void {
    this.#offerListeners.add(listener)
    return () => this.#offerListeners.delete(listener)
  }

  async #openAll(names: Iterable<string>): Promise<void> {
    for (const name of names) if (!this.#isClosed) await this.#open(name)
  }

  #open(name: string): Promise<Opened> {
    const known = this.#byName.get(name)
    if (known !== undefined) return Promise.resolve(known)
    const opening = this.#opening.get(name) ?? this.#create(name).finally(() => this.#opening.delete(name))
    this.#opening.set(name, opening)
    return opening
  }

  async #create(name: string): Promise<Opened> {
    const { store, optionsOf } = this.#options
    const tenant = await store.tenant(name)
    const upstreams = new Upstreams({
      ...optionsOf(name),
      storage: { entries: store.entries, tenant: tenant.tenant, shared: store.shared },
      hasRoom: () => this.#count < MAX_UPSTREAMS_OF_SERVER,
    })
    await upstreams.start()
    upstreams.onTools(() => {
      for (const listener of this.#toolListeners) listener()
    })
    upstreams.onOffers((kind) => {
      for (const listener of this.#offerListeners) listener(kind)
    })
    const opened = { tenant, upstreams }
    this.#byNumber.set(tenant.tenant, opened)
    this.#byName.set(name, opened)
    try {
      await this.#announce(opened)
    } catch (error) {
      // Opened again at the next use.
      this.#byNumber.delete(tenant.tenant)
      this.#byName.delete(name)
      await upstreams.close()
      throw error
    }
    return opened
  }

  async #announce(opened: Opened): Promise<void> {
    if (this.#onOpened === undefined || this.#announced.has(opened)) return
    this.#announced.add(opened)
    await this.#onOpened(opened)
  }

  get #count(): number {
    return this.all.reduce((sum, { upstreams }) => sum + upstreams.size, 0)
  }

  /** A tenant with upstreams in the file is open without a mark, but its stored upstreams need one. */
  async #mark(name: string): Promise<void> {
    const { store } = this.#options
    const { tenant: owner } = await store.tenant(DEFAULT_TENANT)
    if (this.#marks.known(owner)?.has(name)) return
    await store.entries.put({ tenant: owner, kind: MARK_KIND, name, value: '{}', due_at: null })
    await this.#marks.refresh(owner)
  }

  async #readMarks(tenant: number): Promise<ReadonlySet<string>> {
    // Keeps the cached copy from being evicted.
    this.#marks.known(tenant)
    const names = new Set<string>()
    for (let after = ''; ; ) {
      const page = await this.#options.store.entries.list(tenant, MARK_KIND, after, PAGE)
      for (const { name } of page) names.add(name)
      after = page.at(-1)?.name ?? ''
      if (page.length < PAGE) return names
    }
  }
}
