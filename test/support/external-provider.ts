import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type AccountClaims, type ClientMetadata } from 'oidc-provider'
import { onTestFinished } from 'vitest'

export interface ExternalProviderOptions {
  readonly clients: readonly ClientMetadata[]
  /** The scopes of each resource. */
  readonly scopes?: string
  /** Further claims of access tokens. */
  readonly claims?: Readonly<Record<string, string>>
  /** The person who is signed in. */
  readonly person?: () => AccountClaims
}

/** An authorization server of another vendor on loopback. It signs in one person and grants everything. */
export async function externalProvider({
  clients,
  scopes = '',
  claims = {},
  person = () => ({ sub: 'person-1' }),
}: ExternalProviderOptions) {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const resources: string[] = []
  const provider = new Provider(url, {
    clients,
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['a-key-for-tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    extraTokenClaims: () => claims,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => {
          resources.push(resource)
          return { scope: scopes, audience: resource, accessTokenFormat: 'jwt' }
        },
        useGrantedResource: () => true,
      },
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...person(), sub: id }) }),
  })
  const serve = provider.callback()
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return serve(request, response)
    const { params, prompt, session } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login') {
      return provider.interactionFinished(request, response, { login: { accountId: person().sub } })
    }
    const grant = new provider.Grant({
      clientId: String(params.client_id),
      ...(session && { accountId: session.accountId }),
    })
    grant.addOIDCScope('openid offline_access email')
    if (typeof params.resource === 'string') grant.addResourceScope(params.resource, scopes)
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  })
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  onTestFinished(stop)
  return { url, resources, stop }
}

/** Follows redirects as a browser does, with cookies, up to the redirect URI of a client. */
export async function followRedirects(start: URL, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = start
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null)
      throw new Error(`${url} responded with ${response.status}: ${await response.text()}`)
    url = new URL(location, url)
    if (url.href.startsWith(redirectUri)) return url
  }
  throw new Error('too many redirects')
}
