import { z } from 'zod'
import { boolean, integer, Kind, list, text } from './kinds.ts'
import { isLoopback } from './refusals.ts'
import type { ServerValues } from './server.ts'

const LOOPBACK_URL = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/|$)/i

/** Tokens name their issuer exactly so, therefore the text is not normalized. */
export const issuer = new Kind<string>(
  'an https URL without a query or fragment; http is allowed on loopback',
  (value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return undefined
    const { protocol, username, password, search, hash } = new URL(value)
    const isPlain = username + password + search + hash === '' && !/[?#]/.test(value)
    return isPlain && (protocol === 'https:' || LOOPBACK_URL.test(value)) ? value.trim() : undefined
  },
)

/** Whether a public URL is one that tokens and codes may be sent to. */
export function isSafeUrl(url: string | null): boolean {
  return url === null || url.startsWith('https:') || LOOPBACK_URL.test(url)
}

const DAY_SECONDS = 24 * 3600

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
  oauth_server: boolean.default(
    false,
    'Whether this server issues access tokens itself, at /oauth/authorize and /oauth/token; see docs/oauth.md.',
  ),
  oauth_access_token_seconds: integer(60, 90 * DAY_SECONDS).default(
    3600,
    'How long an access token of this server is valid.',
  ),
  oauth_refresh_token_days: integer(1, 365).default(
    90,
    'How long a client can get new access tokens of this server before the person has to allow it again.',
  ),
  oauth_client_documents: boolean.default(
    true,
    'Whether a client of this server may use the https URL of its metadata document as its client id.',
  ),
  oauth_registration: boolean.default(
    false,
    'Whether clients may register themselves at /oauth/register. Anyone who can reach the server can then do so.',
  ),
})

/** The settings of the authorization server of AsyncGate. The others are for tokens of another issuer. */
const OF_SERVER: readonly string[] = [
  'oauth_access_token_seconds',
  'oauth_refresh_token_days',
  'oauth_client_documents',
  'oauth_registration',
]

export type OauthValues = z.output<typeof oauthTable>

/** Settings that contradict each other or have no effect. */
export function oauthProblems(
  { oauth_issuer, oauth_server }: OauthValues,
  isGiven: (name: string) => boolean,
): string[] {
  const isOwn = (name: string) => OF_SERVER.includes(name)
  const isOther = (name: string) => !isOwn(name) && name !== 'oauth_issuer' && name !== 'oauth_server'
  const given = Object.keys(oauthTable.shape).filter(isGiven)
  const needs = (names: readonly string[], other: string) =>
    names.map((name) => `${name.toUpperCase()} needs ${other}.`)
  return [
    ...(oauth_issuer === null ? needs(given.filter(isOther), 'OAUTH_ISSUER') : []),
    ...(oauth_server ? [] : needs(given.filter(isOwn), 'OAUTH_SERVER=true')),
    ...(oauth_server && oauth_issuer !== null
      ? [
          'OAUTH_SERVER and OAUTH_ISSUER exclude each other: tokens come from this server or from another one.',
        ]
      : []),
  ]
}

/** What the authorization server needs of the other settings. */
export function oauthServerProblems(
  { oauth_server }: OauthValues,
  { console, public_url }: Pick<ServerValues, 'console' | 'public_url'>,
): string[] {
  if (!oauth_server) return []
  const { pathname } = new URL(public_url ?? 'https://localhost')
  return [
    ...(console ? [] : ['OAUTH_SERVER needs CONSOLE=true: people sign in and allow clients there.']),
    ...(isSafeUrl(public_url)
      ? []
      : ['OAUTH_SERVER needs a PUBLIC_URL with https; http is allowed on loopback.']),
    ...(pathname === '/' ? [] : ['OAUTH_SERVER needs a PUBLIC_URL without a path.']),
  ]
}

/** Tokens name this server by its URL, which the address that it listens on is not for clients on other machines. */
export function oauthWarnings(
  { oauth_issuer, oauth_server, oauth_audience }: OauthValues,
  { host, public_url }: Pick<ServerValues, 'host' | 'public_url'>,
): string[] {
  const isUsed = oauth_server || oauth_issuer !== null
  if (!isUsed || oauth_audience !== null || public_url !== null || isLoopback(host)) return []
  return [
    'Access tokens must name the address that this server listens on as their audience. ' +
      'Set ASYNCGATE_PUBLIC_URL to the URL that clients use.',
  ]
}
