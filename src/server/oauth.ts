import { AccessTokens } from '../auth/access-tokens.ts'
import type { TokenVerifier } from '../auth/credential.ts'
import { GrantedTokens } from '../auth/granted-tokens.ts'
import { OwnIssuer } from '../auth/own-issuer.ts'
import { ProtectedResource, RESOURCE_PATHS } from '../auth/protected-resource.ts'
import { RemoteIssuer } from '../auth/remote-issuer.ts'
import type { Config } from '../config/index.ts'
import { guardedFetch } from '../egress/fetch.ts'
import { allowOnlyOrigin, type EgressSettings } from '../egress/settings.ts'
import type { Oauth as StoredOauth } from '../features/oauth/oauth.ts'
import { egressOf } from './egress.ts'

/** The audience of tokens that name the product instead of the URL of the server. */
const GENERAL_AUDIENCE = 'asyncgate-api'

const MAX_DOCUMENT_BYTES = 256 * 1024

export interface Oauth {
  readonly tokens: TokenVerifier & { stop(): void }
  readonly resource: ProtectedResource
}

/** Access tokens as credentials; undefined if none are accepted. */
export function openOauth(
  { oauth, server }: Pick<Config, 'oauth' | 'server'>,
  stored: StoredOauth,
  url: () => string,
  onError: (error: unknown) => void,
): Oauth | undefined {
  const { oauth_issuer: issuer, oauth_audience } = oauth
  if (oauth.oauth_server) {
    const tokens = new AccessTokens({
      issuer: new OwnIssuer(url, stored.signingKeys),
      audiences: () => RESOURCE_PATHS.map((path) => url() + path),
    })
    return {
      tokens: new GrantedTokens(tokens, stored.grants, onError),
      resource: new ProtectedResource({ url, authorizationServers: () => [url()] }),
    }
  }
  if (issuer === null) return undefined
  const tokens = new AccessTokens({
    issuer: new RemoteIssuer({
      issuer,
      tenant: oauth.oauth_tenant,
      claims: {
        tenant: oauth.oauth_tenant_claim,
        kind: oauth.oauth_kind_claim,
        principal: oauth.oauth_principal_claim,
        scope: oauth.oauth_scope_claim,
      },
      fetchJson: jsonFetcher(issuer, egressOf(server)),
      onError,
    }),
    audiences: () => oauth_audience ?? [...RESOURCE_PATHS.map((path) => url() + path), GENERAL_AUDIENCE],
  })
  return { tokens, resource: new ProtectedResource({ url, authorizationServers: () => [issuer] }) }
}

/** Fetches documents. The origin that the operator has configured may be private, other origins may not. */
export function jsonFetcher(trusted: string, egress: Partial<EgressSettings>) {
  return async (url: string): Promise<unknown> => {
    const isTrusted = URL.canParse(url) && new URL(url).origin === new URL(trusted).origin
    const response = await guardedFetch(url, {
      headers: { accept: 'application/json' },
      settings: { ...(isTrusted ? allowOnlyOrigin(url, egress) : egress), max_bytes: MAX_DOCUMENT_BYTES },
    })
    if (response.status !== 200) {
      response.discard()
      return undefined
    }
    return JSON.parse((await response.bytes()).toString())
  }
}
