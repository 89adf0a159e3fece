import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection } from '../collection.ts'
import type { Payload } from './protocol-state.ts'

const KIND = 'oauth_registered_client'
const MAX_REGISTERED = 10_000

/** Clients that registered themselves. They belong to the tenant of the server, and people of every tenant may use them. */
export class RegisteredClients {
  readonly #engine: Engine
  readonly #records: Collection<Payload>

  constructor(engine: Engine) {
    this.#engine = engine
    const shape = z.record(z.string(), z.unknown())
    this.#records = new Collection(engine, KIND, (text) => shape.parse(JSON.parse(text)))
  }

  async find(clientId: string): Promise<Payload | undefined> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    return (await this.#records.get(tenant, clientId))?.value
  }

  async save(clientId: string, metadata: Payload): Promise<void> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    const { entries } = this.#engine.store
    const count = await this.#engine.reading(() => entries.count(tenant, KIND, MAX_REGISTERED))
    if (count >= MAX_REGISTERED)
      throw new Fault('QUOTA_EXCEEDED', { quota: 'registered_clients', limit: MAX_REGISTERED })
    await this.#records.put(tenant, clientId, metadata)
  }

  async remove(clientId: string): Promise<void> {
    const { tenant } = await this.#engine.tenant(DEFAULT_TENANT)
    await this.#records.remove(tenant, clientId)
  }
}
