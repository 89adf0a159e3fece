import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'
import { Fault } from '../core/errors.ts'
import { type Caller, isReserved, type Principal, principalKey } from '../core/principal.ts'
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../core/scopes.ts'
import type { AuditSink } from '../features/audit/port.ts'
import { type ClientKind, tenantOfClient } from '../features/oauth/client-record.ts'
import { grantableScopes } from '../features/oauth/grantable.ts'
import type { Oauth } from '../features/oauth/oauth.ts'
import { PROTOCOL_SCOPES } from './provider.ts'

/** What a client asks a person for. */
export interface AuthorizationRequest {
  readonly client_id: string
  readonly client_name: string
  /** Where the name of the client comes from: an admin, its metadata document, or the client itself. */
  readonly origin: 'registered' | 'document' | 'self-registered'
  readonly redirect_uri: string
  /** What the tokens will speak for. */
  readonly principal: { readonly kind: ClientKind; readonly id: string }
  /** What the person can grant. */
  readonly scopes: readonly Scope[]
  /** What the client asks for and the person cannot grant. */
  readonly withheld: readonly Scope[]
  readonly expires_at: number
}

export interface AuthorizationsOptions {
  readonly oauth: Oauth
  readonly provider: () => Promise<Provider>
  readonly tenant: (name: string) => Promise<number>
  readonly grantSeconds: number
  readonly audit: AuditSink
}

interface Found extends AuthorizationRequest {
  readonly provider: Provider
  readonly resource: string
  /** The scopes of the protocol that the client asks for. */
  readonly protocolScopes: readonly string[]
  /** The scopes that the client asks for and does not get. */
  readonly refused: readonly Scope[]
}

/** Authorization requests that wait for a person. The cookie of the request must be that of the browser that began it. */
export class Authorizations {
  readonly #options: AuthorizationsOptions

  constructor(options: AuthorizationsOptions) {
    this.#options = options
  }

  /** The request that the browser has begun. */
  find(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<AuthorizationRequest> {
    return this.#find(request, response, caller)
  }

  /** Grants what the client asks for. Resolves with the path at which the browser continues. */
  async allow(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<string> {
    const found = await this.#find(request, response, caller)
    if (found.scopes.length === 0)
      throw new Fault('FORBIDDEN', {}, 'Your role allows nothing of what this client asks for.')
    const { provider, client_id, client_name, principal, resource, scopes, expires_at } = found
    const stored = await this.#options.oauth.grants.create(await this.#options.tenant(caller.tenant), {
      tenant: caller.tenant,
      person: caller.principal.id,
      key_id: caller.key_id ?? null,
      identity: caller.identity ?? null,
      principal,
      client_id,
      client_name,
      expires_at,
    })
    const accountId = subjectOf(caller)
    const grant = new provider.Grant({ accountId, clientId: client_id })
    grant.jti = stored.grant_id
    grant.addResourceScope(resource, scopes.join(' '))
    grant.rejectResourceScope(resource, found.withheld.join(' '))
    grant.addOIDCScope([...found.protocolScopes, ...scopes].join(' '))
    grant.rejectOIDCScope(found.refused.join(' '))
    await grant.save()
    this.#options.audit.record({
      event: 'token_granted',
      tenant: caller.tenant,
      principal: principalKey(caller.principal),
      key_id: caller.key_id,
      subject: client_id,
      origin: caller.origin,
      details: { client_name, scopes, for: principalKey(principal) },
    })
    const result = { login: { accountId, remember: false }, consent: { grantId: stored.grant_id } }
    return pathOf(await provider.interactionResult(request, response, result))
  }

  /** Refuses the request. Resolves with the path at which the browser continues. */
  async deny(request: IncomingMessage, response: ServerResponse): Promise<string> {
    const provider = await this.#options.provider()
    await details(provider, request, response)
    const result = { error: 'access_denied', error_description: 'the person refused the request' }
    return pathOf(await provider.interactionResult(request, response, result))
  }

  async #find(request: IncomingMessage, response: ServerResponse, caller: Caller): Promise<Found> {
    const { oauth, grantSeconds } = this.#options
    const provider = await this.#options.provider()
    const { params } = await details(provider, request, response)
    const { resource } = params
    // With several, the client would have to say for which one each token is.
    if (typeof resource !== 'string')
      throw new Fault('VALIDATION_ERROR', { path: 'resource' }, 'The application asks for several resources.')
    const client_id = String(params.client_id)
    const client = await provider.Client.find(client_id)
    if (client === undefined) throw new Fault('CLIENT_NOT_FOUND', { client_id })
    const owner = tenantOfClient(client_id)
    if (owner !== undefined && owner !== (await this.#options.tenant(caller.tenant)))
      throw new Fault('FORBIDDEN', {}, 'This client belongs to another tenant. Sign in there.')
    const registered = await oauth.clients.find(client_id)
    const asked = String(params.scope ?? '').split(' ')
    const permitted = registered?.scopes ?? DEFAULT_SCOPES
    const known = SCOPES.filter((scope) => asked.includes(scope))
    const wanted = known.filter((scope) => permitted.includes(scope))
    const kind = registered?.principal_kind ?? 'agent'
    const principal = { kind, id: caller.principal.id }
    if (isReserved(principal)) {
      const name = principalKey(principal)
      throw new Fault(
        'FORBIDDEN',
        { principal: name },
        `${name} is reserved for AsyncGate. Sign in with another name.`,
      )
    }
    const grantable = grantableScopes(caller, kind)
    return {
      provider,
      resource,
      client_id,
      client_name: client.clientName ?? client_id,
      origin:
        registered !== undefined
          ? 'registered'
          : client_id.startsWith('https://')
            ? 'document'
            : 'self-registered',
      redirect_uri: String(params.redirect_uri),
      principal,
      scopes: wanted.filter((scope) => grantable.includes(scope)),
      withheld: wanted.filter((scope) => !grantable.includes(scope)),
      protocolScopes: asked.filter((scope) => PROTOCOL_SCOPES.includes(scope)),
      refused: known.filter((scope) => !(wanted.includes(scope) && grantable.includes(scope))),
      expires_at: Date.now() + grantSeconds * 1000,
    }
  }
}

async function details(provider: Provider, request: IncomingMessage, response: ServerResponse) {
  const gone = () =>
    new Fault(
      'NOT_FOUND',
      {},
      'This request has expired, or was begun in another browser. Start again in the application.',
    )
  try {
    const found = await provider.interactionDetails(request, response)
    // The cookie decides, and the person must see the request that the address names.
    if (request.url?.split('?')[0]?.endsWith(`/${found.uid}`)) return found
  } catch (error) {
    throw error instanceof Error && error.name === 'SessionNotFound' ? gone() : error
  }
  throw gone()
}

/** The subject of a person: the same for all clients, and without the name. */
function subjectOf({
  tenant,
  principal,
}: {
  readonly tenant: string
  readonly principal: Principal
}): string {
  return hash('sha256', JSON.stringify([tenant, principal.kind, principal.id]), 'base64url').slice(0, 32)
}

function pathOf(url: string): string {
  return new URL(url).pathname
}
