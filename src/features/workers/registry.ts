import { checkSelf, seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskEvent } from '../../engine/events.ts'
import type { Entries, Entry } from '../../store/entries.ts'
import type { Holder } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import { Drains, LiveWorkers } from './live-workers.ts'
import type { Publications } from './publications.ts'
import { stateOf, type WorkerRecord, type WorkerState, type WorkerView, workerView } from './shape.ts'
import { type Profile, Sightings } from './sightings.ts'
import { MAX_STORED, RegistryWriter, recordOf, WORKER_KIND } from './writer.ts'

const PAGE = 1000

interface WorkerCall {
  readonly tenant: number
  readonly worker_id: string
  readonly holder: PrincipalKey
}

/**
 * The workers of this server. Calls of workers update it in memory, and a background writer stores the changes. Which
 * leases a worker holds is always read from the store.
 */
export class WorkerRegistry {
  readonly drains: Drains
  readonly live: LiveWorkers
  readonly #engine: Engine
  readonly #publications: Publications
  readonly #sightings = new Sightings()
  readonly #writer: RegistryWriter

  constructor(engine: Engine, publications: Publications) {
    this.#engine = engine
    this.#publications = publications
    this.drains = new Drains(engine)
    this.live = new LiveWorkers(engine, this.drains, this.#sightings)
    this.#writer = new RegistryWriter(
      engine,
      this.#sightings,
      (tenant, worker_id) => this.#remove(tenant, worker_id),
      (tenant, now) => publications.sweep(tenant, now),
    )
    engine.events.onTask((event) => this.#happened(event))
  }

  /** A worker has called. */
  saw(call: WorkerCall, profile?: Profile): void {
    const before = this.#sightings.find(call.tenant, call.worker_id)?.changes
    const sighting = this.#sightings.note(call.tenant, call.worker_id, call.holder)
    if (profile !== undefined) sighting?.describe(profile)
    if (sighting?.changes !== before) this.live.changed()
    this.#writer.start()
  }

  took({ tenant, worker_id }: WorkerCall, count: number): void {
    const sighting = this.#sightings.find(tenant, worker_id)
    if (sighting === undefined) return
    sighting.claimed += count
    sighting.last_seen_at = Date.now()
  }

  failed(call: WorkerCall): void {
    const sighting = this.#sightings.note(call.tenant, call.worker_id, call.holder)
    if (sighting !== undefined) sighting.failed++
    this.#writer.start()
  }

  /** Stores a worker immediately: a worker that registers has to be visible on every server. */
  async register(call: WorkerCall, profile: Profile): Promise<void> {
    this.saw(call, profile)
    const sighting = this.#sightings.find(call.tenant, call.worker_id)
    if (sighting?.isChanged) await this.#engine.writing(() => this.#writer.write(sighting))
  }

  /** Only the principal of the worker and admins may unregister it. */
  async unregister(tenant: number, worker_id: string, caller: Caller): Promise<void> {
    const holder = await this.#holderOf(tenant, worker_id)
    const self = principalKey(caller.principal)
    if (holder !== undefined && holder !== self) checkSelf(caller, holder)
    await this.#engine.writing(() => this.#remove(tenant, worker_id))
    // Another principal may publish under the same name: only admins remove that too.
    await this.#publications.withdraw(tenant, worker_id, seesAll(caller.role) ? undefined : self)
  }

  async drain(tenant: number, worker_id: string, drain: boolean): Promise<void> {
    if (drain && (await this.#holderOf(tenant, worker_id)) === undefined) {
      throw new Fault('WORKER_NOT_FOUND', { worker_id })
    }
    await this.drains.set(tenant, worker_id, drain)
  }

  /** Workers after the id `after`, sorted by id. */
  async list(tenant: number, after: string, limit: number, withConfig: boolean): Promise<WorkerView[]> {
    return this.#views(tenant, withConfig, (entries) => entries.list(tenant, WORKER_KIND, after, limit))
  }

  /** The worker with this id; empty if it was not seen in the last day. */
  async find(tenant: number, worker_id: string, withConfig: boolean): Promise<WorkerView[]> {
    return this.#views(tenant, withConfig, (entries) => entries.several(tenant, WORKER_KIND, [worker_id]))
  }

  async #views(
    tenant: number,
    withConfig: boolean,
    read: (entries: Entries) => Promise<readonly Entry[]>,
  ): Promise<WorkerView[]> {
    const { drains } = this
    await drains.load(tenant)
    const { entries, holders } = await this.#read(tenant, read)
    const now = Date.now()
    return entries.map((entry) =>
      workerView(entry.name, this.#current(entry), {
        now,
        offlineMs: this.#offlineMs,
        holder: holders.get(entry.name),
        drain: drains.has(tenant, entry.name),
        withConfig,
      }),
    )
  }

  /** The number of workers in each state. It writes nothing. */
  async count(tenant: number): Promise<Record<WorkerState, number>> {
    const { store } = this.#engine
    const counts = { idle: 0, busy: 0, offline: 0 }
    const now = Date.now()
    const holders = await this.#holders(tenant)
    const add = (name: string, record: WorkerRecord) => {
      counts[stateOf(record, { now, offlineMs: this.#offlineMs, holder: holders.get(name) })]++
    }
    const unknown = new Map([...this.#sightings.of(tenant)].map((one) => [one.worker_id, one]))
    for (let after = '', counted = 0; counted < MAX_STORED; counted += PAGE) {
      if (counted > 0) await nextTurn()
      const page = await this.#engine.reading(() => store.entries.list(tenant, WORKER_KIND, after, PAGE))
      for (const entry of page) {
        unknown.delete(entry.name)
        add(entry.name, this.#current(entry))
      }
      if (page.length < PAGE) break
      after = page.at(-1)?.name ?? after
    }
    for (const [name, sighting] of unknown) add(name, sighting.over(undefined))
    return counts
  }

  /** Writes what is not stored yet. */
  async stop(): Promise<void> {
    await this.live.stop()
    await this.#writer.stop()
  }

  get #offlineMs(): number {
    return this.#engine.settings.worker_offline_seconds * 1000
  }

  #happened({ status, completed_at, at, tenant, worker_id, holder }: TaskEvent): void {
    // A success that gains its evidence later causes a second event.
    if (status !== 'succeeded' || completed_at !== at || worker_id === null || holder === null) return
    const sighting = this.#sightings.note(tenant, worker_id, holder)
    if (sighting !== undefined) sighting.completed++
    this.#writer.start()
  }

  async #read(
    tenant: number,
    read: (entries: Entries) => Promise<readonly Entry[]>,
  ): Promise<{ entries: readonly Entry[]; holders: ReadonlyMap<string, Holder> }> {
    const { store } = this.#engine
    return this.#engine.reading(async () => {
      await this.#writer.writeNew(tenant)
      const [entries, holders] = await Promise.all([read(store.entries), this.#holders(tenant)])
      return { entries, holders }
    })
  }

  async #holders(tenant: number): Promise<ReadonlyMap<string, Holder>> {
    const holders = await this.#engine.reading(() => this.#engine.store.reads.holders(tenant))
    return new Map(holders.map((holder) => [holder.worker_id, holder]))
  }

  /** The stored record merged with what this process has seen since. */
  #current({ tenant, name, value }: Entry): WorkerRecord {
    const stored = recordOf(value)
    return this.#sightings.find(tenant, name)?.over(stored) ?? stored
  }

  async #holderOf(tenant: number, worker_id: string): Promise<PrincipalKey | undefined> {
    const seen = this.#sightings.find(tenant, worker_id)
    if (seen !== undefined) return seen.holder
    const entry = await this.#engine.reading(() =>
      this.#engine.store.entries.get(tenant, WORKER_KIND, worker_id),
    )
    return entry && recordOf(entry.value).holder
  }

  async #remove(tenant: number, worker_id: string): Promise<void> {
    await this.#writer.exclusively(() => {
      this.#sightings.remove(tenant, worker_id)
      return this.#engine.store.entries.remove(tenant, WORKER_KIND, worker_id)
    })
    await this.live.removed(tenant)
    await this.drains.set(tenant, worker_id, false)
  }
}
