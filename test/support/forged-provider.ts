import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type SigningKey, signingKey, signToken } from './issuer.ts'

export interface Forgery {
  /** Claims of the id token that differ from the right ones. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** Signs the id token instead of the published key. */
  readonly key?: SigningKey
}

/** An OpenID provider on loopback whose id tokens can be wrong. It accepts any code. */
export async function forgedProvider(clientId: string) {
  const key = await signingKey('first')
  const state: { nonce: string; forgery: Forgery; requests: string[] } = {
    nonce: '',
    forgery: {},
    requests: [],
  }
  const idToken = () => {
    const now = Math.floor(Date.now() / 1000)
    const right = { iss: url, aud: clientId, sub: 'user-1', iat: now, exp: now + 600, nonce: state.nonce }
    const email = { email: 'ann@example.com', email_verified: true }
    const { claims, key: other = key } = state.forgery
    return signToken(other, { ...right, ...email, ...claims }, { typ: 'JWT' })
  }
  const documents: Readonly<Record<string, () => object | Promise<object>>> = {
    '/.well-known/openid-configuration': () => ({
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/jwks': () => ({ keys: [key.jwk] }),
    '/token': async () => ({ access_token: 'a-token', token_type: 'Bearer', id_token: await idToken() }),
  }
  const server = createServer(async (request, response) => {
    state.requests.push(request.url ?? '')
    const found = await documents[request.url ?? '']?.()
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url, state }
}
