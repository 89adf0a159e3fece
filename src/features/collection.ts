import type { Engine } from '../engine/engine.ts'
import { TenantCopies } from '../engine/tenant-cache.ts'
import type { Entry } from '../store/entries.ts'

const PAGE = 500

export interface Item<Value> {
  readonly name: string
  readonly value: Value
  /** The stored JSON text of the value. */
  readonly text: string
  /** Number of the last write, counted from 1. */
  readonly version: number
}

/** Records of one kind, stored as JSON by tenant and name. An outage rejects with the same error as for a command. */
export class Collection<Value> {
  readonly #engine: Engine
  readonly #kind: string
  readonly #parse: (text: string) => Value

  /** `parse` reads a stored text, also one that an earlier version has written. */
  constructor(engine: Engine, kind: string, parse: (text: string) => Value) {
    this.#engine = engine
    this.#kind = kind
    this.#parse = parse
  }

  async get(tenant: number, name: string): Promise<Item<Value> | undefined> {
    const { store } = this.#engine
    const entry = await this.#engine.reading(() => store.entries.get(tenant, this.#kind, name))
    return entry && this.#itemOf(entry)
  }

  /** Records with a name above `after`, sorted by name. */
  async page(tenant: number, after: string, limit: number): Promise<Item<Value>[]> {
    const { store } = this.#engine
    const entries = await this.#engine.reading(() => store.entries.list(tenant, this.#kind, after, limit))
    return entries.map((entry) => this.#itemOf(entry))
  }

  /** All records of a tenant, sorted by name. It is for copies: an outage rejects with the error of the store. */
  async all(tenant: number): Promise<Item<Value>[]> {
    const found: Item<Value>[] = []
    for (;;) {
      const after = found.at(-1)?.name ?? ''
      const page = await this.#engine.store.entries.list(tenant, this.#kind, after, PAGE)
      found.push(...page.map((entry) => this.#itemOf(entry)))
      if (page.length < PAGE) return found
    }
  }

  /** Undefined if the record no longer has the expected version: 0 if there is none, undefined for any. */
  async put(tenant: number, name: string, value: Value, expected?: number): Promise<Item<Value> | undefined> {
    const text = JSON.stringify(value)
    const entry = { tenant, kind: this.#kind, name, value: text, due_at: null }
    const version = await this.#engine.writing((entries) => entries.put(entry, expected))
    return version === undefined ? undefined : { name, value, text, version }
  }

  /** Resolves with whether there was such a record. */
  remove(tenant: number, name: string): Promise<boolean> {
    return this.#engine.writing((entries) => entries.remove(tenant, this.#kind, name))
  }

  #itemOf({ name, value, version }: Entry): Item<Value> {
    return { name, value: this.#parse(value), text: value, version }
  }
}

/** What a feature derives from the records of each tenant, in memory so that the hot path reads nothing. */
export abstract class TenantRegistry<Copy> {
  protected readonly engine: Engine
  readonly #copies: TenantCopies<Copy>
  readonly #listeners = new Set<(tenant: number, after: Copy, before: Copy) => void>()

  /** By default the records are read again only if several servers share the store. */
  constructor(engine: Engine, refreshing?: { readonly everyMs: number }) {
    this.engine = engine
    this.#copies = new TenantCopies({
      shared: engine.store.shared || refreshing !== undefined,
      readEveryMs: refreshing?.everyMs,
      read: (tenant, before) => this.read(tenant, before),
      replaced: (tenant, after, before) => {
        for (const listener of this.#listeners) listener(tenant, after, before)
      },
      report: (error) => engine.report(error),
    })
  }

  protected abstract read(tenant: number, before: Copy | undefined): Promise<Copy>

  /** Undefined until loaded. */
  known(tenant: number): Copy | undefined {
    return this.#copies.known(tenant)
  }

  load(tenant: number): Promise<Copy> {
    return this.engine.reading(() => this.#copies.load(tenant))
  }

  /** Reads the store. */
  refresh(tenant: number): Promise<Copy> {
    return this.engine.reading(() => this.#copies.refresh(tenant))
  }

  /** A copy with every change that was made before this call, by any server. Concurrent calls share one read. */
  fresh(tenant: number): Promise<Copy> {
    return this.engine.reading(() => this.#copies.fresh(tenant))
  }

  /** The listener is called when a copy was replaced. Returns an unsubscribe function. */
  onReplaced(listener: (tenant: number, after: Copy, before: Copy) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }
}
