import { Fault } from '../../core/errors.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'
import { newClientId, type StoredClient, storedClient, tenantOfClient } from './client-record.ts'

const MAX_CLIENTS = 1000
const KIND = 'oauth_client'

export type ClientDraft = Pick<StoredClient, 'client_name' | 'redirect_uris' | 'scopes' | 'principal_kind'>

/** The OAuth clients that admins have registered, by tenant. */
export class OauthClients {
  readonly #engine: Engine
  readonly #records: Collection<StoredClient>

  constructor(engine: Engine) {
    this.#engine = engine
    this.#records = new Collection(engine, KIND, (text) => storedClient.parse(JSON.parse(text)))
  }

  async create(tenant: number, draft: ClientDraft, by: PrincipalKey): Promise<StoredClient> {
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() => entries.count(tenant, KIND, MAX_CLIENTS))
    if (count >= MAX_CLIENTS)
      throw new Fault('QUOTA_EXCEEDED', { quota: 'oauth_clients', limit: MAX_CLIENTS })
    const client_id = newClientId(tenant, this.#engine.random)
    const client = { ...draft, client_id, created_at: Date.now(), created_by: by }
    await this.#records.put(tenant, client.client_id, client, 0)
    return client
  }

  /** The client with this id, of any tenant. */
  async find(clientId: string): Promise<StoredClient | undefined> {
    const tenant = tenantOfClient(clientId)
    return tenant === undefined ? undefined : (await this.#records.get(tenant, clientId))?.value
  }

  /** Clients with an id above `after`, sorted by id. */
  async page(tenant: number, after: string, limit: number): Promise<StoredClient[]> {
    return (await this.#records.page(tenant, after, limit)).map(({ value }) => value)
  }

  async remove(tenant: number, clientId: string): Promise<StoredClient> {
    const found = await this.#records.get(tenant, clientId)
    if (found === undefined) throw new Fault('CLIENT_NOT_FOUND', { client_id: clientId })
    await this.#records.remove(tenant, clientId)
    return found.value
  }
}
