import type { Engine } from './engine.ts'
import type { WorkerRecord } from './worker-registry-shape.ts'
import type { Sighting, Sightings } from './worker-registry-sightings.ts'

export const WORKER_KIND = 'worker'

const TICK_MS = 5000

/** How often a worker that goes on as before is written. Alone on a database it is only for the next start. */
const EVERY_MS = { shared: 10_000, alone: 60_000 }

/** Writes of one tick: each is a transaction, and the tasks come first. */
const PER_TICK = 100
const AT_STOP = 1000

/** A worker that was not heard of for so long is forgotten. */
const FORGET_AFTER_MS = 24 * 3600_000
const FORGET_EVERY_TICKS = 12
const FORGET_AT_ONCE = 100

/** Brings what was seen to the store, little by little and beside the work. */
export class RegistryWriter {
  readonly #engine: Engine
  readonly #sightings: Sightings
  readonly #forget: (tenant: number, worker_id: string) => Promise<unknown>
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #ticks = 0

  constructor(
    engine: Engine,
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

  /** Those whom the store does not know at all. */
  async writeNew(tenant: number): Promise<void> {
    for (const sighting of this.#sightings.of(tenant))
      if (sighting.written === null) await this.write(sighting)
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
    const due_at = record.last_seen_at + FORGET_AFTER_MS
    const value = JSON.stringify(record)
    const draft = { tenant, kind: WORKER_KIND, name: worker_id, value, due_at }
    if ((await entries.put(draft, entry?.version ?? 0)) === undefined) return
    sighting.claimed -= claimed
    sighting.completed -= completed
    sighting.failed -= failed
    sighting.written = { at: Date.now(), seen: record.last_seen_at, profile: changes }
  }

  async #tick(): Promise<void> {
    const now = Date.now()
    const { store, settings } = this.#engine
    const everyMs = store.shared ? EVERY_MS.shared : EVERY_MS.alone
    const offlineSince = now - settings.worker_offline_seconds * 1000
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

/** A record of an earlier version has no instance_id. */
export function recordOf(value: string): WorkerRecord {
  return { instance_id: null, ...JSON.parse(value) }
}
