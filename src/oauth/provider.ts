import type { Configuration, errors, JWK, KoaContextWithOIDC, Provider } from 'oidc-provider'
import { RESOURCE_PATHS } from '../auth/protected-resource.ts'
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../core/scopes.ts'
import type { StoredGrant } from '../features/oauth/grants.ts'
import type { Oauth } from '../features/oauth/oauth.ts'
import type { KeySet } from '../features/oauth/signing-keys.ts'
import { adapterFactory } from './adapter.ts'
import { loadProvider } from './load-provider.ts'
import { answerStructuredTokens, type OwnTokens } from './structured-tokens.ts'

export interface ProviderOptions {
  readonly oauth: Oauth
  /** The URL of this server, which is also the issuer. */
  readonly url: string
  readonly keys: KeySet
  /** Signs cookies. */
  readonly cookieKey: string
  readonly accessTokenSeconds: number
  readonly refreshTokenSeconds: number
  readonly acceptsDocuments: boolean
  readonly acceptsRegistration: boolean
  /** Fetches the metadata document of a client. */
  readonly fetch: (url: string) => Promise<Response>
  /** Verifies access tokens of this server. */
  readonly tokens: OwnTokens
  /** Whether the sign-in that a grant comes from is still valid. */
  readonly isCurrent: (grant: StoredGrant) => Promise<boolean>
  /** A client has revoked its tokens, or a code or refresh token was used twice. */
  readonly onRevoked: (grant: StoredGrant, cause: 'client' | 'reuse') => void
  /** The document that tells a person why an authorization failed. */
  readonly renderError: (description: string) => { readonly html: string; readonly headers: object }
  readonly onError: (error: unknown) => void
}

const CODE_SECONDS = 60
const INTERACTION_SECONDS = 600
/** Scopes of the protocol itself. A refresh token is issued with and without offline_access. */
export const PROTOCOL_SCOPES: readonly string[] = ['openid', 'offline_access']

const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  userinfo: '/oauth/userinfo',
  end_session: '/oauth/session/end',
}

/** The authorization server for one set of signing keys. */
export async function createProvider(options: ProviderOptions): Promise<Provider> {
  const { Provider, errors } = await loadProvider()
  const { url, oauth, tokens, onError, onRevoked } = options
  const adapter = adapterFactory({
    oauth,
    usedBefore: () => new errors.InvalidGrant('the code or token was used before'),
    onRevoked: (grant) => onRevoked(grant, Provider.ctx?.oidc.route === 'revocation' ? 'client' : 'reuse'),
  })
  const provider = new Provider(url, { ...configurationOf(options, errors), adapter })
  // The handler sets the header, so that the scheme of the public URL applies.
  provider.proxy = true
  provider.use(answerStructuredTokens(oauth.grants, tokens, (grant) => onRevoked(grant, 'client')))
  provider.on('server_error', (_context, error) => onError(error))
  return provider
}

function configurationOf(options: ProviderOptions, known: typeof errors): Configuration {
  const { oauth, url, keys, accessTokenSeconds, refreshTokenSeconds } = options
  const resources = RESOURCE_PATHS.map((path) => url + path)
  return {
    jwks: { keys: keys.keys.map(({ jwk, kid }): JWK => ({ ...jwk, kid, alg: 'RS256', use: 'sig' })) },
    routes: ROUTES,
    cookies: { keys: [options.cookieKey], names: cookieNames(url) },
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    scopes: [...PROTOCOL_SCOPES, ...SCOPES],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: CODE_SECONDS,
      RefreshToken: refreshTokenSeconds,
      Grant: Math.max(refreshTokenSeconds, accessTokenSeconds),
      IdToken: accessTokenSeconds,
      Interaction: INTERACTION_SECONDS,
      Session: INTERACTION_SECONDS,
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: {
        enabled: true,
        allowedPolicy: async (_context, client, token) => token.clientId === client.clientId,
      },
      introspection: {
        enabled: true,
        allowedPolicy: async (_context, client, token) => token.clientId === client.clientId,
      },
      registration: { enabled: options.acceptsRegistration, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: { enabled: options.acceptsDocuments, ack: 'draft-02' },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => url,
        useGrantedResource: async () => true,
        async getResourceServerInfo(_context, resource, client) {
          if (!resources.includes(resource.replace(/\/$/, '')))
            throw new known.InvalidTarget(`this server issues tokens for ${resources.join(' and ')} only`)
          return {
            scope: (await permittedScopes(oauth, client.clientId)).join(' '),
            audience: resource,
            accessTokenTTL: accessTokenSeconds,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }
        },
      },
    },
    interactions: { url: (_context, { uid }) => `/console/oauth/${uid}` },
    fetch: (target) => options.fetch(String(target)),
    async findAccount(_context, accountId, token) {
      const grantId = token !== undefined && 'grantId' in token ? token.grantId : undefined
      if (typeof grantId === 'string' && !(await isUsable(options, grantId))) return undefined
      return { accountId, claims: () => ({ sub: accountId }) }
    },
    async extraTokenClaims(_context, token) {
      const grant = 'grantId' in token ? await oauth.grants.find(token.grantId ?? '') : undefined
      if (grant === undefined) throw new known.InvalidGrant('the grant was revoked')
      const { kind, id } = grant.principal
      return { tenant_id: grant.tenant, principal_kind: kind, principal_id: id, grant_id: grant.grant_id }
    },
    renderError: async (context, out) =>
      renderError(options, context, String(out.error_description ?? out.error)),
  }
}

/**
 * With these prefixes, a browser accepts the cookies only over https, and that of the session only from this host. The
 * others are sent to single pages, which the stricter prefix does not allow.
 */
function cookieNames(url: string): NonNullable<NonNullable<Configuration['cookies']>['names']> {
  const isSecure = url.startsWith('https:')
  return {
    session: `${isSecure ? '__Host-' : ''}asyncgate_oauth_session`,
    interaction: `${isSecure ? '__Secure-' : ''}asyncgate_oauth_request`,
    resume: `${isSecure ? '__Secure-' : ''}asyncgate_oauth_resume`,
  }
}

async function isUsable({ oauth, isCurrent }: ProviderOptions, grantId: string): Promise<boolean> {
  const grant = await oauth.grants.find(grantId)
  return grant !== undefined && (await isCurrent(grant))
}

/** What a client may ask for. A client that no admin has registered cannot ask for more than agents usually need. */
async function permittedScopes({ clients }: Oauth, clientId: string): Promise<readonly Scope[]> {
  return (await clients.find(clientId))?.scopes ?? DEFAULT_SCOPES
}

function renderError(
  { renderError: render }: ProviderOptions,
  context: KoaContextWithOIDC,
  text: string,
): void {
  const { html, headers } = render(text)
  context.type = 'html'
  context.body = html
  for (const [name, value] of Object.entries(headers)) context.set(name, String(value))
}
