import { Fault } from '../../core/errors.ts'
import { DEFAULT_TENANT, type PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'
import { type IssuedKey, issueKey, type KeyPrefix, parseKey } from './format.ts'
import { keyState, type StoredKey, storedKey } from './record.ts'
import { hashSecret } from './secret-hash.ts'

const MAX_KEYS = 10_000

/** An entry whose version counts the changes of keys of its tenant. */
const CHANGES = { kind: 'key_changes', name: 'keys' }
const USES = 'key_use'
/** An entry of the default tenant that exists once any tenant has a key. */
const EXISTENCE = { kind: 'key_existence', name: 'any' }

/** What a key is bound to. */
export type KeyDraft = Pick<
  StoredKey,
  'name' | 'principal' | 'role' | 'scopes' | 'capabilities' | 'expires_at' | 'tenant'
>

export interface NewKey {
  /** The whole key. It exists only in this response. */
  readonly key: string
  readonly record: StoredKey
}

/**
 * The issued keys of all tenants. The id of a key contains the number of its tenant, so a record is found within its tenant
 * before the caller is known.
 */
export class Keys {
  readonly #engine: Engine
  readonly #records: Collection<StoredKey>
  #pepper: Buffer | undefined

  constructor(engine: Engine) {
    this.#engine = engine
    this.#records = new Collection(engine, 'key', (text) => storedKey.parse(JSON.parse(text)))
  }

  /** The parts of a key; undefined if it was not issued on this database. */
  async parse(text: string): Promise<IssuedKey | undefined> {
    return parseKey(text, await this.#checksumSecret())
  }

  async issue(tenant: number, draft: KeyDraft, by: PrincipalKey): Promise<NewKey> {
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() => entries.count(tenant, 'key', MAX_KEYS))
    if (count >= MAX_KEYS) throw new Fault('QUOTA_EXCEEDED', { quota: 'keys', limit: MAX_KEYS })
    const prefix: KeyPrefix = draft.role === 'worker' ? 'agw' : 'aga'
    const { key, key_id, secret } = issueKey(
      prefix,
      tenant,
      await this.#checksumSecret(),
      this.#engine.random,
    )
    const record: StoredKey = {
      ...draft,
      key_id,
      prefix,
      hash: await hashSecret(secret),
      created_at: Date.now(),
      created_by: by,
      revoked_at: null,
      revoked_by: null,
      replaced_by: null,
    }
    const stored = await this.#records.put(tenant, key_id, record, 0)
    if (stored === undefined) throw new Error(`the id ${key_id} of a new key is in use`)
    await this.#noteExistence()
    return { key, record }
  }

  /** Whether a key was ever issued, in any tenant. */
  async exist(): Promise<boolean> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    const { entries } = this.#engine.store
    const { kind, name } = EXISTENCE
    return (await this.#engine.reading(() => entries.get(tenant, kind, name))) !== undefined
  }

  async #noteExistence(): Promise<void> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    const entry = { tenant, ...EXISTENCE, value: '{}', due_at: null }
    await this.#engine.writing((entries) => entries.put(entry, 0))
  }

  async get(tenant: number, keyId: string): Promise<StoredKey | undefined> {
    return (await this.#records.get(tenant, keyId))?.value
  }

  /** Keys with an id above `after`, in the order of their ids. */
  async page(tenant: number, after: string, limit: number): Promise<StoredKey[]> {
    return (await this.#records.page(tenant, after, limit)).map(({ value }) => value)
  }

  /** Revokes a key. Resolves when every server will refuse it within a second. */
  revoke(tenant: number, keyId: string, by: PrincipalKey): Promise<StoredKey> {
    return this.#change(tenant, keyId, (record) =>
      record.revoked_at === null ? { ...record, revoked_at: Date.now(), revoked_by: by } : record,
    )
  }

  /** Revokes a key and removes its name, which can identify a person. */
  erase(tenant: number, keyId: string, by: PrincipalKey): Promise<StoredKey> {
    return this.#change(tenant, keyId, (record) => ({
      ...record,
      name: null,
      revoked_at: record.revoked_at ?? Date.now(),
      revoked_by: record.revoked_by ?? by,
    }))
  }

  /** Issues a key with the same bindings. The old one stays valid for the given time. */
  async rotate(tenant: number, keyId: string, overlapMs: number, by: PrincipalKey): Promise<NewKey> {
    const old = await this.get(tenant, keyId)
    if (old === undefined) throw noSuchKey(keyId)
    const state = keyState(old, Date.now())
    if (state !== 'active') throw new Fault('KEY_NOT_ACTIVE', { key_id: keyId, state })
    const { name, principal, role, scopes, capabilities, tenant: of } = old
    // A key that was to expire is replaced by one with the same lifetime.
    const lifetime = old.expires_at === null ? null : old.expires_at - old.created_at
    const expires_at = lifetime === null ? null : Date.now() + lifetime
    const draft = { name, principal, role, scopes, capabilities, tenant: of, expires_at }
    const issued = await this.issue(tenant, draft, by)
    const end = Date.now() + overlapMs
    await this.#change(tenant, keyId, (record) => ({
      ...record,
      expires_at: Math.min(record.expires_at ?? end, end),
      replaced_by: issued.record.key_id,
    }))
    return issued
  }

  /** Counts the changes of keys of a tenant. A server whose count is current has current records. */
  async changes(tenant: number): Promise<number> {
    const { entries } = this.#engine.store
    const { kind, name } = CHANGES
    const entry = await this.#engine.reading(() => entries.get(tenant, kind, name))
    return entry?.version ?? 0
  }

  /** Records when a key was last used. It is approximate: each server writes it at most once a minute. */
  async used(tenant: number, keyId: string, at: number): Promise<void> {
    const entry = { tenant, kind: USES, name: keyId, value: JSON.stringify(at), due_at: null }
    await this.#engine.writing((entries) => entries.put(entry))
  }

  /** When these keys were last used, by id. */
  async lastUses(tenant: number, keyIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { entries } = this.#engine.store
    const found = await this.#engine.reading(() => entries.several(tenant, USES, keyIds))
    return new Map(found.map(({ name, value }) => [name, Number(value)]))
  }

  async #change(tenant: number, keyId: string, change: (record: StoredKey) => StoredKey): Promise<StoredKey> {
    for (;;) {
      const found = await this.#records.get(tenant, keyId)
      if (found === undefined) throw noSuchKey(keyId)
      const changed = change(found.value)
      if (!(await this.#records.put(tenant, keyId, changed, found.version))) continue
      // Also if nothing had to be changed: an earlier call may have failed before this.
      const { kind, name } = CHANGES
      await this.#engine.writing((entries) => entries.put({ tenant, kind, name, value: '{}', due_at: null }))
      return changed
    }
  }

  async #checksumSecret(): Promise<Buffer> {
    this.#pepper ??= await this.#engine.secretFor('checksum of issued keys')
    return this.#pepper
  }
}

export function noSuchKey(keyId: string): Fault {
  return new Fault('KEY_NOT_FOUND', { key_id: keyId })
}
