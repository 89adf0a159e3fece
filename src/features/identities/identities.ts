import { Fault } from '../../core/errors.ts'
import { DEFAULT_TENANT, type IdentityRef, type PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TenantRef } from '../../store/store.ts'
import { Collection } from '../collection.ts'
import { identityId, idsOf, type ProvedIdentity, type StoredIdentity, storedIdentity } from './record.ts'

const KIND = 'identity'
const MAX_IDENTITIES = 10_000
const PAGE = 500

export type IdentityDraft = Pick<StoredIdentity, 'matched' | 'person' | 'role' | 'scopes'>

/**
 * The people of identity providers who may sign in. The records of all tenants belong to the tenant of the server: the
 * tenant of a person is known only once their record was found, and a person can belong to one tenant only.
 */
export class Identities {
  readonly #engine: Engine
  readonly #records: Collection<StoredIdentity>

  constructor(engine: Engine) {
    this.#engine = engine
    this.#records = new Collection(engine, KIND, (text) => storedIdentity.parse(JSON.parse(text)))
  }

  /** Creates or replaces an identity of a tenant. What is the same already does not change. */
  async put({ tenant, name }: TenantRef, draft: IdentityDraft, by: PrincipalKey): Promise<StoredIdentity> {
    const own = await this.#own()
    const identity_id = identityId(draft.matched)
    for (;;) {
      const found = await this.#records.get(own, identity_id)
      if (found !== undefined && found.value.tenant_number !== tenant) throw new Fault('IDENTITY_TAKEN')
      if (found !== undefined && isSame(found.value, draft)) return found.value
      if (found === undefined) await this.#checkCount(own)
      const record: StoredIdentity = {
        ...draft,
        identity_id,
        tenant: name,
        tenant_number: tenant,
        revision: this.#engine.random.hex(12),
        updated_at: Date.now(),
        updated_by: by,
      }
      if (await this.#records.put(own, identity_id, record, found?.version ?? 0)) return record
    }
  }

  /** Identities of a tenant with an id above `after`, sorted by id. */
  async page(tenant: number, after: string, limit: number): Promise<StoredIdentity[]> {
    const own = await this.#own()
    const found: StoredIdentity[] = []
    for (let position = after; ; ) {
      const page = await this.#records.page(own, position, PAGE)
      found.push(...page.map(({ value }) => value).filter((record) => record.tenant_number === tenant))
      const last = page.at(-1)
      if (found.length >= limit || last === undefined || page.length < PAGE) return found.slice(0, limit)
      position = last.name
    }
  }

  /** The identity of a person who has proved who they are; undefined if none is stored. */
  async find(proved: ProvedIdentity): Promise<StoredIdentity | undefined> {
    const own = await this.#own()
    for (const id of idsOf(proved)) {
      const found = await this.#records.get(own, id)
      if (found !== undefined) return found.value
    }
    return undefined
  }

  /** The identity of a sign-in; undefined if it was changed or removed since. */
  async current({ id, revision }: IdentityRef): Promise<StoredIdentity | undefined> {
    const found = await this.#records.get(await this.#own(), id)
    return found?.value.revision === revision ? found.value : undefined
  }

  async remove(tenant: number, identityId: string): Promise<void> {
    const own = await this.#own()
    const found = await this.#records.get(own, identityId)
    if (found === undefined || found.value.tenant_number !== tenant)
      throw new Fault('IDENTITY_NOT_FOUND', { identity_id: identityId })
    await this.#records.remove(own, identityId)
  }

  /** All identities of a person. */
  async of(tenant: number, person: string): Promise<StoredIdentity[]> {
    const all = await this.page(tenant, '', MAX_IDENTITIES)
    return all.filter((record) => record.person === person)
  }

  async #checkCount(own: number): Promise<void> {
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() => entries.count(own, KIND, MAX_IDENTITIES))
    if (count >= MAX_IDENTITIES)
      throw new Fault('QUOTA_EXCEEDED', { quota: 'identities', limit: MAX_IDENTITIES })
  }

  async #own(): Promise<number> {
    return (await this.#engine.tenant(DEFAULT_TENANT)).tenant
  }
}

function isSame(record: StoredIdentity, { person, role, scopes }: IdentityDraft): boolean {
  return (
    record.person === person &&
    record.role === role &&
    JSON.stringify(record.scopes) === JSON.stringify(scopes)
  )
}
