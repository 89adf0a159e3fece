import type { KoaContextWithOIDC } from 'oidc-provider'
import type { BoundCredential } from '../auth/credential.ts'
import { Fault } from '../core/errors.ts'
import type { OauthGrants, StoredGrant } from '../features/oauth/grants.ts'
import { isObject } from '../util/guards.ts'

/** Verifies access tokens of this server. */
export interface OwnTokens {
  verify(text: string): BoundCredential | Promise<BoundCredential>
}

/**
 * Introspects and revokes access tokens. They are JWTs, which the protocol library refuses at these endpoints after it has
 * authenticated the client. Revoking one ends its grant, and with it the refresh token.
 */
export function answerStructuredTokens(
  grants: OauthGrants,
  tokens: OwnTokens,
  onRevoked: (grant: StoredGrant) => void,
) {
  return async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    const route = context.oidc?.route
    if (route !== 'revocation' && route !== 'introspection') return
    const { body }: { body: unknown } = context
    if (!isObject(body) || body.error !== 'unsupported_token_type') return
    const { token } = context.oidc.params ?? {}
    const found = typeof token === 'string' ? await findGrant(grants, tokens, token) : undefined
    const isOwn = found !== undefined && found.grant.client_id === context.oidc.client?.clientId
    if (isOwn && route === 'revocation') {
      await grants.revoke(found.grant.grant_id)
      onRevoked(found.grant)
    }
    context.status = 200
    context.body = route === 'revocation' ? '' : isOwn ? { ...found.claims, active: true } : { active: false }
  }
}

async function findGrant(grants: OauthGrants, tokens: OwnTokens, text: string) {
  try {
    const { token } = await tokens.verify(text)
    const grant = await grants.find(token?.grant_id ?? '')
    const claims: unknown = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString())
    return grant !== undefined && isObject(claims) ? { grant, claims } : undefined
  } catch (error) {
    if (error instanceof Fault && error.code === 'UNAUTHENTICATED') return undefined
    throw error
  }
}
