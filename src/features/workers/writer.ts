import type { EntryDraft } from '../../store/entries.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'
import type { WorkerRecord } from './shape.ts'
import type { Sighting, Sightings } from './sightings.ts'

export const WORKER_KIND = 'worker'

const TICK_MS = 5000

/** How often a worker that goes on as before is written. Alone on a database it is only for the next start. */
const EVERY_MS = { shared: 10_000, alone: 60_000 }

/** Writes of one tick: each is a transaction, and the tasks come first. */
const PER_TICK = 100
const AT_STOP = 1000

/** New workers that are written in one transaction. */
const NEW_AT_ONCE = 1000

/** Workers of a tenant that are kept. Ids are the clients' to choose, so those heard of longest ago have to go. */
export const MAX_KEPT = 10_000

/** A worker that was not heard of for so long is forgotten. */
const FORGET_AFTER_MS = 24 * 3600_000
const FORGET_EVERY_TICKS = 12
const FORGET_AT_ONCE = 1000

/** Brings what was seen to the store, little by little and beside the work. */
export class RegistryWriter {
  readonly #engine: Services
  readonly #sightings: Sightings
  readonly #forget: (tenant: number, worker_id: string) => Promise<unknown>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #ticks = 0

  constructor(
    engine: Services,
    sightings: Sightings,
    forget: (tenant: number, worker_id: string) => Promise<unknown>,
  ) {
    this.#engine = engine
    this.#sightings = sightings
    this.#forget = forget
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => {
      this.#running ??= this.#tick()
        .catch((error) => this.#engine.report(error))
        .finally(() => {
          this.#running = undefined
        })
    }, TICK_MS)
    this.#timer.unref()
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
    let left = AT_STOP
    try {
      for (const sighting of this.#sightings.all()) {
        if (!sighting.isUnwritten) continue
        if (left-- === 0) return
        await this.write(sighting)
      }
    } catch (error) {
      this.#engine.report(error)
    }
  }

  /** Writes those whom the store does not know at all, many in one transaction, as far as there is room. */
  writeNew(tenant: number): Promise<void> {
    return this.exclusively(async () => {
      const fresh = [...this.#sightings.of(tenant)].filter((sighting) => sighting.isNew)
      for (let from = 0; from < fresh.length; from += NEW_AT_ONCE) {
        if (from > 0) await nextTurn()
        await this.#insert(tenant, fresh.slice(from, from + NEW_AT_ONCE))
      }
    })
  }

  async #insert(tenant: number, sightings: readonly Sighting[]): Promise<void> {
    const { entries } = this.#engine.store
    const drafts = sightings.map((sighting) => ({
      sighting,
      changes: sighting.changes,
      record: sighting.over(undefined),
    }))
    const excess = (await entries.count(tenant, WORKER_KIND, 2 * MAX_KEPT)) + drafts.length - MAX_KEPT
    if (excess > 0) await entries.removeFirstDue(tenant, WORKER_KIND, excess)
    const written = await entries.insertNew(
      drafts.map(({ sighting, record }) => entryOf(tenant, sighting.worker_id, record)),
    )
    for (const { sighting, record, changes } of drafts) {
      sighting.isNew = false
      // The store knows the others from an earlier time: what is new about them is added in its turn.
      if (written.has(sighting.worker_id)) sighting.wrote(record, changes, record)
    }
  }

  write(sighting: Sighting): Promise<void> {
    return this.exclusively(() => this.#write(sighting))
  }

  /** One after the other: what is being written must not be read and added to again. */
  exclusively<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(run)
    this.#queue = done.catch(() => {})
    return done
  }

  /** If another process writes the same worker at this moment, ours waits for the next time. */
  async #write(sighting: Sighting): Promise<void> {
    // It may have been taken off the list meanwhile.
    if (this.#sightings.find(sighting.tenant, sighting.worker_id) !== sighting) return
    const { tenant, worker_id, claimed, completed, failed, changes } = sighting
    const { entries } = this.#engine.store
    const entry = await entries.get(tenant, WORKER_KIND, worker_id)
    const record = sighting.over(entry && recordOf(entry.value))
    if ((await entries.put(entryOf(tenant, worker_id, record), entry?.version ?? 0)) === undefined) return
    sighting.isNew = false
    sighting.wrote(record, changes, { claimed, completed, failed })
  }

  async #tick(): Promise<void> {
    const now = Date.now()
    const { store, settings } = this.#engine
    const everyMs = store.shared ? EVERY_MS.shared : EVERY_MS.alone
    const offlineSince = now - settings.worker_offline_seconds * 1000
    for (const { tenant } of this.#engine.knownTenants) await this.writeNew(tenant)
    let left = PER_TICK
    for (const sighting of this.#sightings.all()) {
      if (sighting.isDue(now, everyMs)) {
        if (left-- === 0) break
        await this.write(sighting)
      } else if (!sighting.isUnwritten && sighting.last_seen_at < offlineSince) {
        this.#sightings.remove(sighting.tenant, sighting.worker_id)
      }
    }
    if (++this.#ticks % FORGET_EVERY_TICKS === 0) await this.#forgetOld(now)
  }

  async #forgetOld(now: number): Promise<void> {
    for (const { tenant } of this.#engine.knownTenants) {
      const old = await this.#engine.store.entries.due(tenant, WORKER_KIND, now, FORGET_AT_ONCE)
      for (const { name } of old) {
        if (this.#sightings.find(tenant, name) === undefined) await this.#forget(tenant, name)
      }
    }
  }
}

function entryOf(tenant: number, name: string, record: WorkerRecord): EntryDraft {
  const due_at = record.last_seen_at + FORGET_AFTER_MS
  return { tenant, kind: WORKER_KIND, name, value: JSON.stringify(record), due_at }
}

/** A record of an earlier version has no instance_id. */
export function recordOf(value: string): WorkerRecord {
  return { instance_id: null, ...JSON.parse(value) }
}
