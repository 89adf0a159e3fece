import { hash } from 'node:crypto'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Entry } from '../../store/entries.ts'

/** Authorization requests that wait for a person, and codes and refresh tokens. */
export type StateKind = 'oauth_interaction' | 'oauth_token'

export type Payload = Readonly<Record<string, unknown>>

const SWEPT: readonly StateKind[] = ['oauth_interaction', 'oauth_token']
const SWEEP_PAGE = 500
/** Anyone can begin an authorization, so the oldest ones make room for new ones. */
const MAX_INTERACTIONS = 10_000
const MAKE_ROOM = 100

/**
 * What the protocol stores for a limited time. It belongs to the tenant of the server, because the tenant of the person is
 * known only once a record has been read. Records are found by the hash of their id, and do not contain the id.
 */
export class ProtocolState {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async put(kind: StateKind, id: string, { jti: _, ...payload }: Payload, seconds: number): Promise<void> {
    const tenant = await this.#own()
    if (kind === 'oauth_interaction') await this.#makeRoom(tenant)
    const due_at = Date.now() + seconds * 1000
    const entry = { tenant, kind, name: nameOf(id), value: JSON.stringify(payload), due_at }
    await this.#engine.writing((entries) => entries.put(entry))
  }

  async get(kind: StateKind, id: string): Promise<Payload | undefined> {
    const entry = await this.#entry(kind, id)
    return entry && { ...parsed(entry), jti: id }
  }

  /**
   * Marks a record as used. False if it was used before, or no longer exists: of several servers that try at the same
   * time, one succeeds.
   */
  async consume(kind: StateKind, id: string): Promise<boolean> {
    const entry = await this.#entry(kind, id)
    if (entry === undefined) return false
    const payload = parsed(entry)
    if (payload.consumed !== undefined) return false
    const { version, ...draft } = entry
    const value = JSON.stringify({ ...payload, consumed: Math.floor(Date.now() / 1000) })
    const stored = await this.#engine.writing((entries) => entries.put({ ...draft, value }, version))
    return stored !== undefined
  }

  async remove(kind: StateKind, id: string): Promise<void> {
    const tenant = await this.#own()
    await this.#engine.writing((entries) => entries.remove(tenant, kind, nameOf(id)))
  }

  /** Removes what has expired. */
  async sweep(now = Date.now()): Promise<void> {
    const tenant = await this.#own()
    const { entries } = this.#engine.store
    for (const kind of SWEPT) {
      const due = await entries.due(tenant, kind, now, SWEEP_PAGE)
      for (const { name } of due) await entries.remove(tenant, kind, name)
    }
  }

  async #entry(kind: StateKind, id: string): Promise<Entry | undefined> {
    const tenant = await this.#own()
    const { entries } = this.#engine.store
    const entry = await this.#engine.reading(() => entries.get(tenant, kind, nameOf(id)))
    return entry !== undefined && (entry.due_at ?? 0) > Date.now() ? entry : undefined
  }

  async #makeRoom(tenant: number): Promise<void> {
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() =>
      entries.count(tenant, 'oauth_interaction', MAX_INTERACTIONS),
    )
    if (count >= MAX_INTERACTIONS)
      await this.#engine.writing((all) => all.removeFirstDue(tenant, 'oauth_interaction', MAKE_ROOM))
  }

  async #own(): Promise<number> {
    return (await this.#engine.tenant(DEFAULT_TENANT)).tenant
  }
}

function nameOf(id: string): string {
  return hash('sha256', id, 'base64url')
}

function parsed({ value }: Entry): Payload {
  return JSON.parse(value)
}
