import { z } from 'zod'
import { text } from './kinds.ts'
import { isSafeUrl, issuer } from './oauth.ts'
import type { ServerValues } from './server.ts'

/** Sign-in to the console through an OpenID provider. */
export const oidcTable = z.object({
  oidc_issuer: issuer.optional(
    'OpenID provider with which people sign in to the console; see docs/oauth.md. Default: they sign in with keys only.',
  ),
  oidc_client_id: text.optional('Id of this server as a client of OIDC_ISSUER.'),
  oidc_client_secret: text.secret('Secret of OIDC_CLIENT_ID.'),
  oidc_name: text.optional(
    'Name of the provider on the sign-in page, as in "Sign in with Google". Default: the host of OIDC_ISSUER.',
  ),
})

export type OidcValues = z.output<typeof oidcTable>

/** The OpenID provider of the settings. */
export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly name: string
}

/** Null if no provider is configured. */
export function oidcOf(values: OidcValues): OidcConfig | null {
  const { oidc_issuer, oidc_client_id: clientId, oidc_client_secret: clientSecret, oidc_name } = values
  if (oidc_issuer === null || clientId === null || clientSecret === null) return null
  return { issuer: oidc_issuer, clientId, clientSecret, name: oidc_name ?? new URL(oidc_issuer).host }
}

/** Settings that are incomplete or have no effect. */
export function oidcProblems(values: OidcValues): string[] {
  const needs = (name: string, other: string) => `${name.toUpperCase()} needs ${other.toUpperCase()}.`
  const { oidc_issuer, oidc_client_id, oidc_client_secret, oidc_name } = values
  if (oidc_issuer === null) {
    const others = Object.entries({ oidc_client_id, oidc_client_secret, oidc_name })
    return others.flatMap(([name, value]) => (value === null ? [] : [needs(name, 'oidc_issuer')]))
  }
  const required = Object.entries({ oidc_client_id, oidc_client_secret })
  return required.flatMap(([name, value]) => (value === null ? [needs('oidc_issuer', name)] : []))
}

/** What the sign-in needs of the other settings. */
export function oidcServerProblems(
  { oidc_issuer }: OidcValues,
  { console, public_url }: Pick<ServerValues, 'console' | 'public_url'>,
): string[] {
  if (oidc_issuer === null) return []
  const { pathname } = new URL(public_url ?? 'https://localhost')
  return [
    ...(console ? [] : ['OIDC_ISSUER needs CONSOLE=true: people sign in there.']),
    ...(isSafeUrl(public_url)
      ? []
      : ['OIDC_ISSUER needs a PUBLIC_URL with https; http is allowed on loopback.']),
    ...(pathname === '/' ? [] : ['OIDC_ISSUER needs a PUBLIC_URL without a path.']),
  ]
}
