import { z } from 'zod'
import { type SessionView, sessionShape } from '../../features/sessions/sessions.ts'
import type { Entries } from '../../store/entries.ts'

const KIND = 'gateway_peer'
/** How often a server publishes its sessions, and when a silent server counts as gone. */
export const PUBLISH_EVERY_MS = 10_000
const SILENT_MS = 35_000

const report = z.object({
  at: z.number(),
  sessionLanes: z.array(z.int()),
  sessions: z.array(sessionShape),
})

export interface PeerStorage {
  readonly entries: Entries
  readonly tenant: number
  readonly shared: boolean
  readonly instance: string
}

/** Shares the sessions of each server with the other servers of the same database. */
export class Peers {
  readonly #storage: PeerStorage
  #lanes: ReadonlySet<number> = new Set()
  #sessions: readonly SessionView[] = []
  #hasPublished = false

  constructor(storage: PeerStorage) {
    this.#storage = storage
  }

  /** The lanes that sessions of other servers use. */
  get lanes(): ReadonlySet<number> {
    return this.#lanes
  }

  get sessions(): readonly SessionView[] {
    return this.#sessions
  }

  async refresh(): Promise<void> {
    const { entries, tenant, shared, instance } = this.#storage
    if (!shared) return
    const lanes = new Set<number>()
    const sessions: SessionView[] = []
    for (const { name, value } of await entries.list(tenant, KIND, '', 1000)) {
      const read = report.safeParse(JSON.parse(value))
      if (name === instance || !read.success) continue
      // Tolerates clock skew between servers.
      if (Math.abs(Date.now() - read.data.at) > SILENT_MS) continue
      for (const lane of read.data.sessionLanes) lanes.add(lane)
      sessions.push(...read.data.sessions)
    }
    this.#lanes = lanes
    this.#sessions = sessions
  }

  async publish(lanes: readonly number[], sessions: readonly SessionView[]): Promise<void> {
    const { entries, tenant, shared, instance } = this.#storage
    if (!shared || (lanes.length === 0 && !this.#hasPublished)) return
    if (lanes.length === 0) {
      await entries.remove(tenant, KIND, instance)
      this.#hasPublished = false
      return
    }
    const value = JSON.stringify({ at: Date.now(), sessionLanes: lanes, sessions })
    this.#hasPublished = true
    await entries.put({ tenant, kind: KIND, name: instance, value, due_at: null })
  }
}
