import type { JsonObject } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { WorkerRecord } from './shape.ts'

/** Maximum number of workers in memory: clients choose the ids, so the number must be limited. */
const MAX_SIGHTINGS = 10_000

/** What a worker reports about itself. Undefined: not reported. */
export interface Profile {
  readonly capabilities?: readonly string[] | undefined
  readonly accept_types?: readonly string[] | null | undefined
  readonly worker_type?: string | undefined
  readonly version?: string | undefined
  readonly config?: JsonObject | undefined
  /** The process that called last. */
  readonly instance_id?: string | undefined
}

/** What this process knows about a worker and has not stored yet. */
export class Sighting {
  readonly tenant: number
  readonly worker_id: string
  readonly first_seen_at: number
  holder: PrincipalKey
  last_seen_at: number
  /** Counted since the last write. */
  claimed = 0
  completed = 0
  failed = 0
  /** Null until the first write. */
  written: { readonly at: number; readonly seen: number; readonly profile: number } | null = null
  /** Whether the store has not been checked for this worker yet. */
  isNew = true
  #profile: Profile = {}
  /** Number of changes of its principal or profile. */
  changes = 1

  constructor(tenant: number, worker_id: string, holder: PrincipalKey, now: number) {
    this.tenant = tenant
    this.worker_id = worker_id
    this.holder = holder
    this.first_seen_at = now
    this.last_seen_at = now
  }

  /** Undefined: not reported. Null: any type. */
  get accept_types(): Profile['accept_types'] {
    return this.#profile.accept_types
  }

  describe(profile: Profile): void {
    const { capabilities, accept_types, worker_type, version, config, instance_id } = profile
    const before = this.#profile
    const isSame =
      (capabilities === undefined || isSameList(capabilities, before.capabilities)) &&
      (accept_types === undefined || isSameList(accept_types, before.accept_types)) &&
      (worker_type === undefined || worker_type === before.worker_type) &&
      (version === undefined || version === before.version) &&
      (instance_id === undefined || instance_id === before.instance_id) &&
      config === undefined
    if (isSame) return
    this.#profile = {
      capabilities: capabilities ?? before.capabilities,
      accept_types: accept_types === undefined ? before.accept_types : accept_types,
      worker_type: worker_type ?? before.worker_type,
      version: version ?? before.version,
      config: config ?? before.config,
      instance_id: instance_id ?? before.instance_id,
    }
    this.changes++
  }

  /** Merges this sighting with the stored record. */
  over(stored: WorkerRecord | undefined): WorkerRecord {
    const { capabilities, accept_types, worker_type, version, config, instance_id } = this.#profile
    return {
      holder: this.holder,
      worker_type: worker_type ?? stored?.worker_type ?? null,
      version: version ?? stored?.version ?? null,
      capabilities: capabilities ?? stored?.capabilities ?? [],
      accept_types: accept_types === undefined ? (stored?.accept_types ?? null) : accept_types,
      config: config ?? stored?.config ?? null,
      instance_id: instance_id ?? stored?.instance_id ?? null,
      first_seen_at: Math.min(this.first_seen_at, stored?.first_seen_at ?? this.first_seen_at),
      last_seen_at: Math.max(this.last_seen_at, stored?.last_seen_at ?? 0),
      claimed: this.claimed + (stored?.claimed ?? 0),
      completed: this.completed + (stored?.completed ?? 0),
      failed: this.failed + (stored?.failed ?? 0),
    }
  }

  /** The record was stored, including these counts. */
  wrote(
    record: WorkerRecord,
    changes: number,
    counted: Pick<WorkerRecord, 'claimed' | 'completed' | 'failed'>,
  ): void {
    this.claimed -= counted.claimed
    this.completed -= counted.completed
    this.failed -= counted.failed
    this.written = { at: Date.now(), seen: record.last_seen_at, profile: changes }
  }

  /** Whether to write it now: immediately if it is new, otherwise after the interval. */
  isDue(now: number, everyMs: number): boolean {
    return this.written === null || (this.isUnwritten && now - this.written.at >= everyMs)
  }

  /** Whether its principal or profile differs from the stored one. */
  get isChanged(): boolean {
    return this.written?.profile !== this.changes
  }

  get isUnwritten(): boolean {
    const { written, claimed, completed, failed } = this
    if (written === null || this.isChanged || this.last_seen_at > written.seen) return true
    return claimed + completed + failed > 0
  }
}

/** The workers that this process has seen recently. */
export class Sightings {
  readonly #tenants = new Map<number, Map<string, Sighting>>()
  #count = 0

  find(tenant: number, worker_id: string): Sighting | undefined {
    return this.#tenants.get(tenant)?.get(worker_id)
  }

  /** Undefined if the limit is reached. */
  note(tenant: number, worker_id: string, holder: PrincipalKey): Sighting | undefined {
    const now = Date.now()
    const known = this.find(tenant, worker_id)
    if (known === undefined) return this.#add(new Sighting(tenant, worker_id, holder, now))
    known.last_seen_at = now
    if (known.holder !== holder) {
      known.holder = holder
      known.changes++
    }
    return known
  }

  remove(tenant: number, worker_id: string): void {
    const workers = this.#tenants.get(tenant)
    if (workers?.delete(worker_id)) this.#count--
    if (workers?.size === 0) this.#tenants.delete(tenant)
  }

  *of(tenant: number): Generator<Sighting> {
    yield* this.#tenants.get(tenant)?.values() ?? []
  }

  *all(): Generator<Sighting> {
    for (const workers of this.#tenants.values()) yield* workers.values()
  }

  #add(sighting: Sighting): Sighting | undefined {
    if (this.#count >= MAX_SIGHTINGS) return undefined
    const workers = this.#tenants.get(sighting.tenant) ?? new Map<string, Sighting>()
    this.#tenants.set(sighting.tenant, workers)
    workers.set(sighting.worker_id, sighting)
    this.#count++
    return sighting
  }
}

function isSameList(list: readonly string[] | null, before: readonly string[] | null | undefined): boolean {
  if (list === null || before === null || before === undefined) return list === before
  return list.length === before.length && list.every((item, i) => item === before[i])
}
