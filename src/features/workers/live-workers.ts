import type { Engine } from '../../engine/engine.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import { Collection, TenantRegistry } from '../collection.ts'
import type { WorkerRecord } from './shape.ts'
import type { Sightings } from './sightings.ts'
import { recordOf, WORKER_KIND } from './writer.ts'

/** The workers that have to stop. Changes by other processes are visible within two seconds. */
export class Drains extends TenantRegistry<ReadonlySet<string>> {
  readonly #workers = new Collection(this.engine, 'worker_drain', () => ({}))
  /** Callbacks of waiting claims, by tenant and worker. */
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(engine: Engine) {
    super(engine)
    this.onReplaced((tenant, after, before) => {
      for (const worker of after) if (!before.has(worker)) this.#release(tenant, worker)
    })
  }

  has(tenant: number, worker_id: string): boolean {
    return this.known(tenant)?.has(worker_id) ?? false
  }

  async set(tenant: number, worker_id: string, drain: boolean): Promise<void> {
    if (drain) await this.#workers.put(tenant, worker_id, {})
    else await this.#workers.remove(tenant, worker_id)
    await this.refresh(tenant)
  }

  /** `onDrain` is called when the worker has to stop. Returns an unsubscribe function. */
  wait(tenant: number, worker_id: string, onDrain: () => void): () => void {
    const key = keyOf(tenant, worker_id)
    const waiting = this.#waiting.get(key) ?? new Set()
    this.#waiting.set(key, waiting)
    waiting.add(onDrain)
    return () => {
      waiting.delete(onDrain)
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
    }
  }

  #release(tenant: number, worker_id: string): void {
    for (const onDrain of this.#waiting.get(keyOf(tenant, worker_id)) ?? []) onDrain()
  }

  protected async read(tenant: number): Promise<ReadonlySet<string>> {
    return new Set((await this.#workers.all(tenant)).map(({ name }) => name))
  }
}

function keyOf(tenant: number, worker_id: string): string {
  return `${tenant} ${worker_id}`
}

/** Maximum number of stored workers to read: the count is a hint, not an inventory. */
const MAX_STORED = 1000

/** How long a count is used, unless a worker has appeared or changed since. */
const FRESH_MS = 2000
/** Minimum interval between counts of many workers. */
const RECOUNT_MS = 50
const MANY = 500

type Stored = ReadonlyMap<string, Pick<WorkerRecord, 'accept_types' | 'last_seen_at'>>

interface Count {
  readonly at: number
  readonly revision: number
  /** Number of workers examined. */
  readonly seen: number
  /** Number of workers that accept any type. */
  readonly any: number
  readonly byType: ReadonlyMap<string, number>
}

/**
 * The number of recently seen workers that accept a type. It is counted from the sightings of this process and from
 * stored workers, which are read at most every two seconds, so that creating a task only looks up a number.
 */
export class LiveWorkers {
  readonly #engine: Engine
  readonly #drains: Drains
  readonly #sightings: Sightings
  readonly #stored: TenantCopies<Stored>
  readonly #counts = new Map<number, Count>()
  #revision = 0

  constructor(engine: Engine, drains: Drains, sightings: Sightings) {
    this.#engine = engine
    this.#drains = drains
    this.#sightings = sightings
    this.#stored = new TenantCopies({
      shared: engine.store.shared,
      read: (tenant) => this.#read(tenant),
      report: (error) => engine.report(error),
    })
  }

  /** A worker has appeared, or has changed the types it accepts. */
  changed(): void {
    this.#revision++
  }

  /** A worker was unregistered. */
  async removed(tenant: number): Promise<void> {
    this.#counts.delete(tenant)
    if (this.#stored.known(tenant) !== undefined) await this.#stored.refresh(tenant)
  }

  /** Undefined if the database is not available. */
  async of(tenant: number, type: string): Promise<number | undefined> {
    const stored = this.#stored.known(tenant) ?? (await this.#stored.load(tenant).catch(() => undefined))
    return stored && this.#countOf(tenant, type, stored)
  }

  /** Whether a worker was seen recently. False until `of` was called for the tenant. */
  has(tenant: number, worker_id: string): boolean {
    const since = Date.now() - this.#engine.settings.worker_offline_seconds * 1000
    const stored = this.#stored.known(tenant)?.get(worker_id)?.last_seen_at ?? 0
    const seen = this.#sightings.find(tenant, worker_id)?.last_seen_at ?? 0
    return Math.max(stored, seen) >= since
  }

  /** The types that live workers name, as of the last count. The same object until the next count. */
  served(tenant: number): ReadonlyMap<string, number> | undefined {
    return this.#counts.get(tenant)?.byType
  }

  stop(): Promise<void> {
    return this.#stored.stop()
  }

  #countOf(tenant: number, type: string, stored: Stored): number {
    const now = Date.now()
    const known = this.#counts.get(tenant)
    const age = known === undefined ? Number.POSITIVE_INFINITY : now - known.at
    if (known !== undefined && age < FRESH_MS) {
      const found = known.any + (known.byType.get(type) ?? 0)
      const isRecent = known.seen > MANY && age < RECOUNT_MS
      if (found > 0 || known.revision === this.#revision || isRecent) return found
    }
    const count = this.#count(tenant, stored, now)
    this.#counts.set(tenant, count)
    return count.any + (count.byType.get(type) ?? 0)
  }

  #count(tenant: number, stored: Stored, now: number): Count {
    const since = now - this.#engine.settings.worker_offline_seconds * 1000
    let seen = 0
    let any = 0
    const byType = new Map<string, number>()
    const add = (worker_id: string, { accept_types, last_seen_at }: ValueOf<Stored>) => {
      seen++
      if (last_seen_at < since || this.#drains.has(tenant, worker_id)) return
      if (accept_types === null) any++
      else for (const type of new Set(accept_types)) byType.set(type, (byType.get(type) ?? 0) + 1)
    }
    for (const [worker_id, record] of stored) {
      if (this.#sightings.find(tenant, worker_id) === undefined) add(worker_id, record)
    }
    for (const { worker_id, last_seen_at, accept_types } of this.#sightings.of(tenant)) {
      const before = stored.get(worker_id)
      add(worker_id, {
        accept_types: accept_types === undefined ? (before?.accept_types ?? null) : accept_types,
        last_seen_at: Math.max(last_seen_at, before?.last_seen_at ?? 0),
      })
    }
    return { at: now, revision: this.#revision, seen, any, byType }
  }

  async #read(tenant: number): Promise<Stored> {
    const entries = await this.#engine.store.entries.list(tenant, WORKER_KIND, '', MAX_STORED)
    return new Map(entries.map(({ name, value }) => [name, recordOf(value)]))
  }
}

type ValueOf<M> = M extends ReadonlyMap<unknown, infer V> ? V : never
