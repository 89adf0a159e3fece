import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  Client,
  type OAuthClientInformation,
  type OAuthClientProvider,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OpenServer } from '../../src/server/open-server.ts'
import { Browser, begin, database, finish, REDIRECT, register, serve, statusWith } from './support.ts'

/** A client that remembers the URL that it would open in a browser. */
function clientProvider(information?: OAuthClientInformation) {
  const saved: { tokens?: StoredOAuthTokens; verifier?: string; url?: URL; client?: OAuthClientInformation } =
    {
      ...(information && { client: information }),
    }
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: 'An MCP client',
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    clientInformation: () => saved.client,
    ...(information === undefined && {
      saveClientInformation: (client: OAuthClientInformation) => void Object.assign(saved, { client }),
    }),
    tokens: () => saved.tokens,
    saveTokens: (tokens) => void Object.assign(saved, { tokens }),
    redirectToAuthorization: (url) => void Object.assign(saved, { url }),
    saveCodeVerifier: (verifier) => void Object.assign(saved, { verifier }),
    codeVerifier: () => saved.verifier ?? '',
  }
  return { saved, provider }
}

async function useTool(server: OpenServer, { saved, provider }: ReturnType<typeof clientProvider>) {
  const endpoint = new URL(`${server.url}/mcp`)
  const first = new StreamableHTTPClientTransport(endpoint, { authProvider: provider })
  const info = { name: 'a client', version: '1' }
  await expect(new Client(info).connect(first)).rejects.toThrow(UnauthorizedError)
  expect(saved.url?.origin).toBe(server.url)
  const returned = await new Browser().decide(saved.url ?? endpoint)
  await first.finishAuth(returned.searchParams)
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: provider }))
  onTestFinished(() => client.close())
  const made = await client.callTool({
    name: 'asyncgate_create_task',
    arguments: { type: 'demo', payload: {} },
  })
  expect(made.isError ?? false).toBe(false)
}

describe('the official MCP client', () => {
  it('finds the authorization server, gets a token as a registered client and calls a tool', async () => {
    const server = await serve(await database('SQLite'))
    const { client_id } = await register(server)
    await useTool(server, clientProvider({ client_id }))
    const { tasks } = await server.gate.listTasks({
      tenant: 'default',
      principal: { kind: 'agent', id: 'maria' },
      role: 'agent',
    })
    expect(tasks).toHaveLength(1)
  })

  it('registers itself where that is allowed', async () => {
    const server = await serve({ ...(await database('SQLite')), ASYNCGATE_OAUTH_REGISTRATION: 'true' })
    await useTool(server, clientProvider())
  })
})

describe('registration by clients', () => {
  const metadata = { client_name: 'x', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' }

  async function registerItself(settings: Readonly<Record<string, string>>, body: object) {
    const server = await serve({ ...(await database('SQLite')), ...settings })
    const response = await fetch(`${server.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { server, status: response.status, client: JSON.parse((await response.text()) || '{}') }
  }

  it('is off by default', async () => {
    const { server, status } = await registerItself({}, metadata)
    expect(status).toBe(404)
    const found = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    expect(await found.json()).not.toHaveProperty('registration_endpoint')
  })

  it('a client that registered itself cannot get admin scopes, and its name is shown as unchecked', async () => {
    const { server, status, client } = await registerItself(
      { ASYNCGATE_OAUTH_REGISTRATION: 'true' },
      metadata,
    )
    expect(status).toBe(201)
    expect(client).not.toHaveProperty('client_secret')
    const flow = await begin(server, client.client_id, { scope: 'tasks:read admin:write' })
    const browser = new Browser()
    const tokens = await finish(flow, await browser.decide(flow.url))
    expect(tokens.scope).toBe('tasks:read')
    const again = await begin(server, client.client_id)
    expect((await browser.open(again.url)).page).toContain('Its name was not checked.')
  })

  it.each([
    ['a secret', { ...metadata, token_endpoint_auth_method: 'client_secret_basic' }],
    ['the implicit flow', { ...metadata, grant_types: ['implicit'], response_types: ['token'] }],
    ['a redirect URI with a fragment', { ...metadata, redirect_uris: [`${REDIRECT}#x`] }],
  ])('%s is refused', async (_name, body) => {
    const { status } = await registerItself({ ASYNCGATE_OAUTH_REGISTRATION: 'true' }, body)
    expect(status).toBe(400)
  })
})

describe('metadata documents of clients', () => {
  it('a document at a private address is not fetched', async () => {
    let requests = 0
    const site = createServer(() => {
      requests++
    })
    site.on('connection', () => {
      requests++
    })
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void site.close())
    const { port } = site.address() as AddressInfo
    const server = await serve(await database('SQLite'))
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, '169.254.169.254', '[::1]']) {
      const { url } = await begin(server, `https://${host}/client.json`)
      const response = await fetch(url, { redirect: 'manual' })
      expect([host, response.status]).toEqual([host, 400])
    }
    expect(requests).toBe(0)
  })

  it('can be switched off', async () => {
    const server = await serve({ ...(await database('SQLite')), ASYNCGATE_OAUTH_CLIENT_DOCUMENTS: 'false' })
    const found = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    expect(await found.json()).not.toHaveProperty('client_id_metadata_document_supported', true)
    const { url } = await begin(server, 'https://app.example/client.json')
    expect((await fetch(url, { redirect: 'manual' })).status).toBe(400)
  })
})

it('a server without the setting has none of the endpoints, and refuses tokens', async () => {
  const server = await serve({ ...(await database('SQLite')), ASYNCGATE_OAUTH_SERVER: 'false' })
  for (const path of ['/oauth/authorize', '/oauth/jwks', '/.well-known/oauth-authorization-server'])
    expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404])
  expect(await statusWith(server.url, 'eyJhbGciOiJSUzI1NiJ9.eyJhIjoxfQ.x')).toBe(401)
})
