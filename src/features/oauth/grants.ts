import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Engine } from '../../engine/engine.ts'
import type { Entry } from '../../store/entries.ts'
import { principalShape } from '../input.ts'
import { CLIENT_KINDS } from './client-record.ts'

const KIND = 'oauth_grant'
/** An entry whose version counts how often grants of its tenant were revoked. */
const CHANGES = { kind: 'oauth_grant_changes', name: 'grants' }
const PAGE = 500

/** What a person has allowed a client to do. Tokens belong to a grant, and end with it. */
const storedGrant = z.object({
  grant_id: z.string(),
  /** The name of its tenant. */
  tenant: z.string(),
  /** The person who allowed it. */
  person: z.string(),
  /** The issued key that the person signed in with; the grant ends with it. */
  key_id: z.string().nullable(),
  /** The identity that the person signed in with; the grant ends when it is changed or removed. */
  identity: z.object({ id: z.string(), revision: z.string() }).nullable().default(null),
  principal: principalShape.extend({ kind: z.enum(CLIENT_KINDS) }),
  client_id: z.string(),
  client_name: z.string(),
  created_at: z.number(),
  expires_at: z.number(),
  /** The record of the protocol library. */
  protocol: z.record(z.string(), z.unknown()),
})

export type StoredGrant = z.output<typeof storedGrant>

export type GrantDraft = Omit<StoredGrant, 'grant_id' | 'created_at' | 'protocol'>

const GRANT_ID = /^(\d{1,15})\.[\w-]{22}$/

/** The number of the tenant of a grant; undefined if the text is not the id of a grant. */
export function tenantOfGrant(grantId: string): number | undefined {
  const tenant = GRANT_ID.exec(grantId)?.[1]
  return tenant === undefined ? undefined : Number(tenant)
}

/** The grants of all tenants. The id of a grant contains the number of its tenant. */
export class OauthGrants {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** A new grant, which no token can use before the protocol has saved its own record. */
  async create(tenant: number, draft: GrantDraft): Promise<StoredGrant> {
    const grant_id = `${tenant}.${randomBytes(16).toString('base64url')}`
    const grant = { ...draft, grant_id, created_at: Date.now(), protocol: {} }
    await this.#put(tenant, grant, 0)
    return grant
  }

  /** Undefined if the grant was revoked or has expired. */
  async find(grantId: string): Promise<StoredGrant | undefined> {
    const entry = await this.#entry(grantId)
    const grant = entry && parsed(entry)
    return grant !== undefined && grant.expires_at > Date.now() ? grant : undefined
  }

  /** Saves the record of the protocol. A grant that was revoked meanwhile stays revoked. */
  async saveProtocol(grantId: string, protocol: StoredGrant['protocol']): Promise<void> {
    for (;;) {
      const entry = await this.#entry(grantId)
      if (entry === undefined) return
      const version = await this.#put(entry.tenant, { ...parsed(entry), protocol }, entry.version)
      if (version !== undefined) return
    }
  }

  /** Ends a grant and all of its tokens. Resolves with the grant, or undefined if there was none. */
  async revoke(grantId: string): Promise<StoredGrant | undefined> {
    const tenant = tenantOfGrant(grantId)
    if (tenant === undefined) return undefined
    const entry = await this.#entry(grantId)
    if (entry !== undefined) await this.#engine.writing((entries) => entries.remove(tenant, KIND, grantId))
    // Also if there was nothing to remove: an earlier call may have failed before this.
    await this.#noteChange(tenant)
    return entry && parsed(entry)
  }

  /** Ends the grants of a tenant that match. Resolves with their number. */
  async revokeMatching(tenant: number, matches: (grant: StoredGrant) => boolean): Promise<number> {
    const { entries } = this.#engine.store
    let revoked = 0
    for (let after = ''; ; ) {
      const page = await this.#engine.reading(() => entries.list(tenant, KIND, after, PAGE))
      for (const entry of page.filter((candidate) => matches(parsed(candidate)))) {
        const existed = await this.#engine.writing((all) => all.remove(tenant, KIND, entry.name))
        if (existed) revoked++
      }
      after = page.at(-1)?.name ?? ''
      if (page.length < PAGE) break
    }
    // Also if there was nothing to remove: an earlier call may have failed before this.
    await this.#noteChange(tenant)
    return revoked
  }

  /** A number that changes when a grant of the tenant is revoked. */
  async changes(tenant: number): Promise<number> {
    const { entries } = this.#engine.store
    const entry = await this.#engine.reading(() => entries.get(tenant, CHANGES.kind, CHANGES.name))
    return entry?.version ?? 0
  }

  /** Removes expired grants of all tenants. */
  async sweep(now = Date.now()): Promise<void> {
    const { store } = this.#engine
    for (const { tenant } of await store.tenants()) {
      const due = await store.entries.due(tenant, KIND, now, PAGE)
      for (const { name } of due) await store.entries.remove(tenant, KIND, name)
    }
  }

  async #entry(grantId: string): Promise<Entry | undefined> {
    const tenant = tenantOfGrant(grantId)
    if (tenant === undefined) return undefined
    const { entries } = this.#engine.store
    return this.#engine.reading(() => entries.get(tenant, KIND, grantId))
  }

  #put(tenant: number, grant: StoredGrant, expected: number): Promise<number | undefined> {
    const { grant_id: name, expires_at: due_at } = grant
    const entry = { tenant, kind: KIND, name, value: JSON.stringify(grant), due_at }
    return this.#engine.writing((entries) => entries.put(entry, expected))
  }

  async #noteChange(tenant: number): Promise<void> {
    const entry = { tenant, ...CHANGES, value: '{}', due_at: null }
    await this.#engine.writing((entries) => entries.put(entry))
  }
}

function parsed(entry: Entry): StoredGrant {
  return storedGrant.parse(JSON.parse(entry.value))
}
