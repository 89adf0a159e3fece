import { z } from 'zod'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import type { SetSession } from '../../features/sessions/sessions.ts'
import type { Entries } from '../../store/entries.ts'
import type { Limits } from './session.ts'

const KIND = 'session_limits'
const PAGE = 500
const TRIES = 20

const limitsShape = z.object({ workers: z.int().nullable(), queue: z.int().nullable() })
type StoredLimits = z.output<typeof limitsShape>

export interface LimitStorage {
  readonly entries: Entries
  readonly tenant: number
  readonly shared: boolean
}

/** The limits that admins have set for single sessions. They are stored, so they outlive the session. */
export class SessionLimits {
  readonly #storage: LimitStorage
  readonly #defaults: Limits
  readonly #copies: TenantCopies<ReadonlyMap<string, StoredLimits>>

  constructor(storage: LimitStorage, defaults: Limits, report: (error: unknown) => void) {
    this.#storage = storage
    this.#defaults = defaults
    this.#copies = new TenantCopies({ shared: storage.shared, read: () => this.#read(), report })
  }

  async start(): Promise<void> {
    await this.#copies.load(this.#storage.tenant)
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  of(sessionId: string): Limits {
    const own = this.#copies.known(this.#storage.tenant)?.get(sessionId)
    if (own === undefined) return this.#defaults
    return { workers: own.workers ?? this.#defaults.workers, queue: own.queue ?? this.#defaults.queue }
  }

  async set({ session_id: name, workers, queue }: SetSession): Promise<void> {
    const { entries, tenant } = this.#storage
    for (let tries = 0; tries < TRIES; tries++) {
      const entry = await entries.get(tenant, KIND, name)
      const before: StoredLimits =
        entry === undefined ? { workers: null, queue: null } : limitsShape.parse(JSON.parse(entry.value))
      const now: StoredLimits = {
        workers: workers === undefined ? before.workers : workers,
        queue: queue === undefined ? before.queue : queue,
      }
      if (await this.#write(name, now, entry?.version ?? 0)) break
    }
    await this.#copies.refresh(tenant)
  }

  async #write(name: string, value: StoredLimits, version: number): Promise<boolean> {
    const { entries, tenant } = this.#storage
    const isPlain = value.workers === null && value.queue === null
    if (isPlain) {
      await entries.remove(tenant, KIND, name)
      return true
    }
    const entry = { tenant, kind: KIND, name, value: JSON.stringify(value), due_at: null }
    return (await entries.put(entry, version)) !== undefined
  }

  async #read(): Promise<ReadonlyMap<string, StoredLimits>> {
    const { entries, tenant } = this.#storage
    // Keeps the cached copy from being evicted.
    this.#copies.known(tenant)
    const found = new Map<string, StoredLimits>()
    for (let after = ''; ; ) {
      const page = await entries.list(tenant, KIND, after, PAGE)
      for (const { name, value } of page) {
        const read = limitsShape.safeParse(JSON.parse(value))
        if (read.success) found.set(name, read.data)
      }
      if (page.length < PAGE) return found
      after = page.at(-1)?.name ?? after
    }
  }
}
