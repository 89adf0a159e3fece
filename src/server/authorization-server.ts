import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KeyVerifier, TokenVerifier } from '../auth/credential.ts'
import type { Config } from '../config/index.ts'
import { guardedFetch } from '../egress/fetch.ts'
import type { EgressSettings } from '../egress/settings.ts'
import type { Gate } from '../features/gate.ts'
import type { GuardSettings } from '../http/guard.ts'
import type { Authorizations } from '../oauth/authorizations.ts'
import { egressOf } from './egress.ts'

const DAY_SECONDS = 24 * 3600
const MAX_DOCUMENT_BYTES = 64 * 1024

export interface AuthorizationServerDeps {
  readonly gate: Gate
  readonly guard: GuardSettings
  readonly tokens: TokenVerifier
  readonly issued: KeyVerifier
  /** The URL of this server, which is known once it listens. */
  readonly url: () => string
  /** The document for a person whose authorization has failed. */
  readonly renderError: (description: string) => { html: string; headers: object } | undefined
  readonly onError: (error: unknown) => void
}

export interface OpenAuthorizationServer {
  readonly authorizations: Authorizations
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
  stop(): Promise<void>
}

/** The authorization server; undefined if it is switched off. */
export async function openAuthorizationServer(
  { oauth: settings, server }: Pick<Config, 'oauth' | 'server'>,
  { gate, guard, tokens, issued, url, renderError, onError }: AuthorizationServerDeps,
): Promise<OpenAuthorizationServer | undefined> {
  if (!settings.oauth_server) return undefined
  const [{ AuthorizationServer }, { Authorizations }] = await Promise.all([
    import('../oauth/authorization-server.ts'),
    import('../oauth/authorizations.ts'),
  ])
  const { oauth, audit } = gate
  const refreshTokenSeconds = settings.oauth_refresh_token_days * DAY_SECONDS
  const accessTokenSeconds = settings.oauth_access_token_seconds
  const authorization = new AuthorizationServer({
    ...{ oauth, guard, tokens, url, onError, accessTokenSeconds, refreshTokenSeconds },
    cookieKey: (await gate.secretFor('cookies of authorizations')).toString('base64url'),
    acceptsDocuments: settings.oauth_client_documents,
    acceptsRegistration: settings.oauth_registration,
    fetch: documentFetcher(egressOf(server)),
    isCurrent: async ({ key_id, identity }) =>
      (key_id === null || (await issued.current(key_id)) !== undefined) &&
      (identity === null || (await gate.identities.current(identity)) !== undefined),
    onRevoked: ({ tenant, person, client_id, principal: { kind, id } }, cause) =>
      audit.record({
        event: cause === 'reuse' ? 'token_reused' : 'token_revoked',
        tenant,
        principal: `${kind}:${id}`,
        subject: client_id,
        details: { allowed_by: `human:${person}` },
      }),
    renderError: (description) => renderError(description) ?? { html: '', headers: {} },
  })
  authorization.start()
  return {
    authorizations: new Authorizations({
      oauth,
      audit,
      provider: () => authorization.provider(),
      tenant: async (name) => (await gate.tenant(name)).tenant,
      grantSeconds: Math.max(refreshTokenSeconds, accessTokenSeconds),
    }),
    handle: (request, response) => authorization.handle(request, response),
    stop: () => authorization.stop(),
  }
}

/** Fetches the metadata documents of clients, whose URLs anyone can choose. */
export function documentFetcher(egress: Partial<EgressSettings>) {
  return async (url: string): Promise<Response> => {
    const settings = { ...egress, max_bytes: MAX_DOCUMENT_BYTES, max_redirects: 0 }
    const response = await guardedFetch(url, { headers: { accept: 'application/json' }, settings })
    const { status, headers } = response
    const { 'cache-control': cacheControl } = headers
    return new Response(new Uint8Array(await response.bytes()), {
      status,
      headers: { 'content-type': 'application/json', ...(cacheControl && { 'cache-control': cacheControl }) },
    })
  }
}
