import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as oauth from 'oauth4webapi'
import { onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import type { StoredClient } from '../../src/features/oauth/client-record.ts'
import { createLogger } from '../../src/http/log.ts'
import { type OpenServer, openServer } from '../../src/server/open-server.ts'
import { freshDatabase } from '../support/postgres.ts'
import { MARIAS_KEY } from './fake-browser.ts'

export { Browser } from './fake-browser.ts'

export const REDIRECT = 'http://127.0.0.1:9/callback'
export const KEY = MARIAS_KEY
export const INSECURE = { [oauth.allowInsecureRequests]: true }
export const AGENT_SCOPES = 'tasks:read tasks:write receipts:read receipts:ack'

export type Settings = Readonly<Record<string, string>>

/** A database for one or more servers. */
export async function database(kind: 'SQLite' | 'PostgreSQL'): Promise<Settings> {
  if (kind === 'PostgreSQL') {
    const { url, drop } = await freshDatabase('oauth')
    onTestFinished(drop)
    return { ASYNCGATE_DATABASE_URL: url }
  }
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-oauth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return { ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}` }
}

/** A server that issues access tokens. Maria is an admin. */
export async function serve(settings: Settings): Promise<OpenServer> {
  const env = {
    ASYNCGATE_PORT: '0',
    ASYNCGATE_OAUTH_SERVER: 'true',
    ASYNCGATE_API_KEY: 'a-shared-key-for-tests',
    ASYNCGATE_ADMIN_KEYS: `maria=${KEY}`,
    ...settings,
  }
  const server = await openServer(loadConfig({ env, file: '/dev/null' }), createLogger('silent'), {
    drainMs: 0,
    graceMs: 0,
  })
  onTestFinished(() => server.close())
  return server
}

export async function register(
  { gate }: Pick<OpenServer, 'gate'>,
  over: Partial<StoredClient> & { tenant?: string } = {},
): Promise<StoredClient> {
  const { tenant = 'default', ...client } = over
  const draft = {
    client_name: 'My agent',
    redirect_uris: [REDIRECT],
    scopes: ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack', 'admin:read'],
    principal_kind: 'agent',
    ...client,
  } as const
  const { tenant: number } = await gate.tenant(tenant)
  return gate.oauth.clients.create(
    number,
    { ...draft, redirect_uris: [...draft.redirect_uris], scopes: [...draft.scopes] },
    'human:maria',
  )
}

export interface Flow {
  readonly as: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly verifier: string
  readonly state: string
  readonly url: URL
}

/** The beginning of an authorization by a client. Parameters that are undefined are left out. */
export async function begin(
  { url: base }: Pick<OpenServer, 'url'>,
  client_id: string,
  over: Readonly<Record<string, string | undefined>> = {},
  /** Where the server is reached, if that is not its public URL. */
  reached = base,
): Promise<Flow> {
  const found = await fetch(`${reached}/.well-known/oauth-authorization-server`)
  const as = await oauth.processDiscoveryResponse(new URL(base), found)
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = new URL(as.authorization_endpoint?.replace(base, reached) ?? '')
  const parameters = {
    client_id,
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: AGENT_SCOPES,
    state,
    resource: base,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...over,
  }
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) url.searchParams.set(name, value)
  return { as, client: { client_id }, verifier, state, url }
}

/** Exchanges the code of a redirect for tokens. */
export async function finish(flow: Flow, returned: URL): Promise<oauth.TokenEndpointResponse> {
  const { as, client, state, verifier } = flow
  const parameters = oauth.validateAuthResponse(as, client, returned, state)
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    oauth.None(),
    parameters,
    REDIRECT,
    verifier,
    INSECURE,
  )
  return oauth.processAuthorizationCodeResponse(as, client, response)
}

export async function refresh({ as, client }: Flow, token: string): Promise<oauth.TokenEndpointResponse> {
  const response = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), token, INSECURE)
  return oauth.processRefreshTokenResponse(as, client, response)
}

/** The status of a request with a token. */
export async function statusWith(url: string, token: string, path = '/v1/tasks'): Promise<number> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } })
  await response.text()
  return response.status
}
