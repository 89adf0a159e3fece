import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Client,
  type OAuthClientProvider,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { externalProvider, followRedirects } from '../support/external-provider.ts'

const REDIRECT = 'http://127.0.0.1:9/callback'
const CLIENT = {
  client_id: 'an-mcp-client',
  token_endpoint_auth_method: 'none',
  redirect_uris: [REDIRECT],
} as const

/** A client that remembers the URL that it would open in a browser. */
function clientProvider() {
  const saved: { tokens?: StoredOAuthTokens; verifier?: string; url?: URL } = {}
  const provider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'a client', redirect_uris: [REDIRECT] },
    clientInformation: () => ({ client_id: CLIENT.client_id }),
    tokens: () => saved.tokens,
    saveTokens: (tokens) => void Object.assign(saved, { tokens }),
    redirectToAuthorization: (url) => void Object.assign(saved, { url }),
    saveCodeVerifier: (verifier) => void Object.assign(saved, { verifier }),
    codeVerifier: () => saved.verifier ?? '',
  }
  return { saved, provider }
}

it('the official MCP client finds the issuer, gets a token and calls a tool', async () => {
  const issuer = await externalProvider({
    clients: [CLIENT],
    scopes: 'tasks:read tasks:write receipts:read receipts:ack',
    claims: { tenant_id: 'default', principal_kind: 'agent', principal_id: 'alice' },
  })
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-oauth-'))
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
    ASYNCGATE_PORT: '0',
    ASYNCGATE_OAUTH_ISSUER: issuer.url,
  }
  const server = await openServer(loadConfig({ env, file: '/dev/null' }), createLogger('silent'), {
    drainMs: 0,
    graceMs: 0,
  })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const endpoint = new URL(`${server.url}/mcp`)
  const { saved, provider } = clientProvider()
  const first = new StreamableHTTPClientTransport(endpoint, { authProvider: provider })
  const info = { name: 'a client', version: '1' }
  await expect(new Client(info).connect(first)).rejects.toThrow(UnauthorizedError)
  expect(saved.url?.searchParams.get('code_challenge_method')).toBe('S256')
  expect(saved.url?.searchParams.get('resource')).toBe(endpoint.href)
  expect(saved.url?.searchParams.get('scope')).toContain('tasks:read tasks:write receipts:read receipts:ack')

  const returned = await followRedirects(saved.url ?? endpoint, REDIRECT)
  await first.finishAuth(returned.searchParams)
  expect(new Set(issuer.resources)).toEqual(new Set([endpoint.href]))

  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider: provider }))
  onTestFinished(() => client.close())
  const made = await client.callTool({
    name: 'asyncgate_create_task',
    arguments: { type: 'demo', payload: {} },
  })
  expect(made.isError ?? false).toBe(false)
  const listed = await server.gate.listTasks({
    tenant: 'default',
    principal: { kind: 'agent', id: 'alice' },
    role: 'agent',
  })
  expect(listed.tasks).toHaveLength(1)

  // The client asks for the scope that a tool lacks, in a browser again.
  const before = saved.url
  await expect(client.callTool({ name: 'asyncgate_list_keys', arguments: {} })).rejects.toThrow()
  expect(saved.url).not.toBe(before)
  expect(saved.url?.searchParams.get('scope')).toContain('admin:read')
})
