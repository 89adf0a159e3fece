import { z } from 'zod'
import { Kind, list, text } from './kinds.ts'
import { isLoopback } from './refusals.ts'
import type { ServerValues } from './server.ts'

const LOOPBACK_URL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/i

/** Tokens name their issuer exactly so, therefore the text is not normalized. */
const issuer = new Kind<string>(
  'an https URL without a query or fragment; http is allowed on loopback',
  (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return undefined
    const { protocol, username, password, search, hash } = new URL(value)
    const isPlain = username + password + search + hash === '' && !/[?#]/.test(value)
    return isPlain && (protocol === 'https:' || LOOPBACK_URL.test(value)) ? value.trim() : undefined
  },
)

const audiences = list('the audiences of tokens, separated by commas', (item) => item)

/** Access tokens as credentials. */
export const oauthTable = z.object({
  oauth_issuer: issuer.optional(
    'Issuer of the access tokens (JWT) that are accepted besides keys; see docs/oauth.md. Default: none are accepted.',
  ),
  oauth_audience: audiences.optional(
    'Audiences of which a token must name one. Default: PUBLIC_URL, PUBLIC_URL/mcp and asyncgate-api.',
  ),
  oauth_tenant: text.optional(
    'Tenant of tokens without OAUTH_TENANT_CLAIM. Default: such tokens are refused.',
  ),
  oauth_tenant_claim: text.default('tenant_id', 'Claim with the tenant.'),
  oauth_kind_claim: text.default(
    'principal_kind',
    'Claim with the kind of the principal: agent, worker, service or human. A token without it is for an agent.',
  ),
  oauth_principal_claim: text.default(
    'principal_id',
    'Claim with the name of the principal. A token without it names its subject, sub.',
  ),
  oauth_scope_claim: text.default('scope', 'Claim with the scopes: a text or a list.'),
})

export type OauthValues = z.output<typeof oauthTable>

/** Settings that have no effect without an issuer. */
export function oauthProblems({ oauth_issuer }: OauthValues, isGiven: (name: string) => boolean): string[] {
  if (oauth_issuer !== null) return []
  return Object.keys(oauthTable.shape)
    .filter(isGiven)
    .map((name) => `${name.toUpperCase()} needs OAUTH_ISSUER.`)
}

/** Tokens name this server by its URL, which the address that it listens on is not for clients on other machines. */
export function oauthWarnings(
  { oauth_issuer, oauth_audience }: OauthValues,
  { host, public_url }: Pick<ServerValues, 'host' | 'public_url'>,
): string[] {
  if (oauth_issuer === null || oauth_audience !== null || public_url !== null || isLoopback(host)) return []
  return [
    'Access tokens must name the address that this server listens on as their audience. ' +
      'Set ASYNCGATE_PUBLIC_URL to the URL that clients use.',
  ]
}
