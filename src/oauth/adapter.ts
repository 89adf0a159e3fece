import type { Adapter, AdapterPayload } from 'oidc-provider'
import { isPrivateScheme, type StoredClient } from '../features/oauth/client-record.ts'
import type { StoredGrant } from '../features/oauth/grants.ts'
import type { Oauth } from '../features/oauth/oauth.ts'
import type { StateKind } from '../features/oauth/protocol-state.ts'

export interface AdapterOptions {
  readonly oauth: Oauth
  /** The error for a code or token that was used before. */
  readonly usedBefore: () => Error
  /** Called when a request has ended a grant. */
  readonly onRevoked: (grant: StoredGrant) => void
}

/** Where the protocol library stores the records of one of its models. */
export function adapterFactory(options: AdapterOptions): (model: string) => Adapter {
  return (model) => {
    if (model === 'Grant') return grantAdapter(options)
    if (model === 'Client') return clientAdapter(options.oauth)
    if (model === 'Interaction') return stateAdapter(options, 'oauth_interaction')
    if (model === 'AuthorizationCode' || model === 'RefreshToken') return stateAdapter(options, 'oauth_token')
    // No sign-in is remembered, because a person confirms every authorization, and access tokens are not stored.
    return NOTHING
  }
}

const NOTHING: Adapter = {
  async upsert() {},
  async find() {},
  async findByUserCode() {},
  async findByUid() {},
  async consume() {},
  async destroy() {},
  // Codes and tokens are worthless without their grant, which is destroyed too.
  async revokeByGrantId() {},
}

function stateAdapter(options: AdapterOptions, kind: StateKind): Adapter {
  const { state } = options.oauth
  return {
    ...NOTHING,
    upsert: (id, payload, seconds = 0) => state.put(kind, id, { ...payload }, seconds),
    find: (id) => state.get(kind, id),
    destroy: (id) => state.remove(kind, id),
    /** The library checks before whether the record is used. This decides between requests at the same time. */
    async consume(id) {
      if (await state.consume(kind, id)) return
      const { grantId } = (await state.get(kind, id)) ?? {}
      if (typeof grantId === 'string') await revoke(options, grantId)
      throw options.usedBefore()
    },
  }
}

function grantAdapter(options: AdapterOptions): Adapter {
  const { grants } = options.oauth
  return {
    ...NOTHING,
    upsert: (id, payload) => grants.saveProtocol(id, { ...payload }),
    async find(id) {
      const grant = await grants.find(id)
      return grant?.protocol
    },
    destroy: (id) => revoke(options, id),
  }
}

async function revoke({ oauth, onRevoked }: AdapterOptions, grantId: string): Promise<void> {
  const grant = await oauth.grants.revoke(grantId)
  if (grant !== undefined) onRevoked(grant)
}

function clientAdapter({ clients, registered }: Pick<Oauth, 'clients' | 'registered'>): Adapter {
  return {
    ...NOTHING,
    upsert: (id, payload) => registered.save(id, { ...payload }),
    async find(id) {
      const client = await clients.find(id)
      return client === undefined ? registered.find(id) : metadataOf(client)
    },
    destroy: (id) => registered.remove(id),
  }
}

/** A native client could use any port of a loopback address; a registered redirect URI is matched exactly. */
function metadataOf({ client_id, client_name, redirect_uris }: StoredClient): AdapterPayload {
  return {
    client_id,
    client_name,
    redirect_uris,
    application_type: redirect_uris.some(isPrivateScheme) ? 'native' : 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
}
