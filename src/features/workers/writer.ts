import type { Engine } from '../../engine/engine.ts'
import type { EntryDraft } from '../../store/entries.ts'
import { nextTurn } from '../../util/turns.ts'
import type { WorkerRecord } from './shape.ts'
import type { Sighting, Sightings } from './sightings.ts'

export const WORKER_KIND = 'worker'

const TICK_MS = 5000

/** How often an unchanged worker is written. On a database that is not shared only the next start reads it. */
const EVERY_MS = { shared: 10_000, alone: 60_000 }

/** Maximum writes per tick: each is a transaction, and those of tasks are more important. */
const PER_TICK = 100
const AT_STOP = 1000

/** Maximum number of new workers per transaction. */
const NEW_AT_ONCE = 1000

/** Maximum number of stored workers per tenant. Clients choose the ids, so beyond it those seen longest ago are deleted. */
export const MAX_STORED = 10_000

/** A worker that was not seen for this long is deleted. */
export const FORGET_AFTER_MS = 24 * 3600_000
const FORGET_EVERY_TICKS = 12
const FORGET_AT_ONCE = 1000

/** Writes sightings to the store in the background, a few at a time. */
export class RegistryWriter {
  readonly #engine: Engine
  readonly #sightings: Sightings
  readonly #forget: (tenant: number, worker_id: string) => Promise<unknown>
  readonly #sweep: (tenant: number, now: number) => Promise<unknown>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #ticks = 0

  /** `forget` removes a worker. `sweep` is called about once per minute for each tenant. */
  constructor(
    engine: Engine,
    sightings: Sightings,
    forget: (tenant: number, worker_id: string) => Promise<unknown>,
    sweep: (tenant: number, now: number) => Promise<unknown>,
  ) {
    this.#engine = engine
    this.#sightings = sightings
    this.#forget = forget
    this.#sweep = sweep
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

  /** Writes the remaining sightings. */
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

  /** Writes workers that the store does not have yet, many per transaction, up to the limit. */
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
    const excess = (await entries.count(tenant, WORKER_KIND, 2 * MAX_STORED)) + drafts.length - MAX_STORED
    if (excess > 0) await entries.removeFirstDue(tenant, WORKER_KIND, excess)
    const written = await entries.insertNew(
      drafts.map(({ sighting, record }) => entryOf(tenant, sighting.worker_id, record)),
    )
    for (const { sighting, record, changes } of drafts) {
      sighting.isNew = false
      // The others are stored already; their changes are written later.
      if (written.has(sighting.worker_id)) sighting.wrote(record, changes, record)
    }
  }

  write(sighting: Sighting): Promise<void> {
    return this.exclusively(() => this.#write(sighting))
  }

  /** Runs one function at a time: counts that are being written must not be read and added twice. */
  exclusively<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(run)
    this.#queue = done.catch(() => {})
    return done
  }

  /** If another process writes the same worker at the same time, this write is left to the next tick. */
  async #write(sighting: Sighting): Promise<void> {
    // The worker may have been unregistered in the meantime.
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
      await this.#sweep(tenant, now)
    }
  }
}

function entryOf(tenant: number, name: string, record: WorkerRecord): EntryDraft {
  const due_at = record.last_seen_at + FORGET_AFTER_MS
  return { tenant, kind: WORKER_KIND, name, value: JSON.stringify(record), due_at }
}

/** Records written by earlier versions have no instance_id. */
export function recordOf(value: string): WorkerRecord {
  return { instance_id: null, version: null, ...JSON.parse(value) }
}
