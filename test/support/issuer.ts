import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export async function signingKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** Signs an access token. Claims that are undefined are left out. */
export function signToken(
  { privateKey, kid, alg }: SigningKey,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const given = Object.entries(claims).filter(([, value]) => value !== undefined)
  const payload: JWTPayload = Object.fromEntries(given)
  return new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header }).sign(privateKey)
}

/** The claims of a valid token for an agent of the tenant default. */
export function claimsOf(issuer: string, audience: string, over: Readonly<Record<string, unknown>> = {}) {
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    aud: audience,
    sub: 'user-1',
    iat: now,
    exp: now + 600,
    tenant_id: 'default',
    principal_kind: 'agent',
    principal_id: 'alice',
    scope: 'tasks:read tasks:write receipts:read receipts:ack',
    ...over,
  }
}

/** An issuer on loopback that publishes metadata and keys. */
export async function localIssuer() {
  const key = await signingKey('first')
  const state = { keys: [key.jwk], requests: 0, isDown: false }
  const server = createServer((request, response) => {
    state.requests++
    const documents: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/jwks` },
      '/jwks': { keys: state.keys },
    }
    const found = state.isDown ? undefined : documents[request.url ?? '']
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, key, state }
}
