import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/index.ts'
import type { UpstreamRecord } from '../../src/features/upstreams/shape.ts'
import { createLogger } from '../../src/http/log.ts'
import { openServer } from '../../src/server/open-server.ts'
import { httpFixture } from '../gateway/upstreams/fixture-http.ts'
import { web } from '../gateway/upstreams/support.ts'
import { claimsOf, localIssuer, signToken } from '../support/issuer.ts'
import { upstreamsOf } from '../support/tenants.ts'

type Fields = Readonly<Record<string, unknown>>

const AGENT_SCOPES = 'tasks:read tasks:write receipts:read receipts:ack'
const SHARED = { ASYNCGATE_API_KEY: 'a-shared-key-for-tests' }
const MODES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['tokens only', {}],
  ['a shared key', SHARED],
  ['a shared key and admin keys', { ...SHARED, ASYNCGATE_ADMIN_KEYS: 'root=the-admin-key-of-root' }],
  ['insecure development', { ASYNCGATE_ALLOW_INSECURE_DEV: 'true' }],
]

/** A server that accepts tokens of a local issuer. */
async function serve(
  settings: Readonly<Record<string, string>> = {},
  upstreams: readonly UpstreamRecord[] = [],
) {
  const issuer = await localIssuer()
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-oauth-'))
  const config = loadConfig({
    env: {
      ASYNCGATE_DATABASE_URL: `sqlite:${join(folder, 'gate.db')}`,
      ASYNCGATE_PORT: '0',
      ASYNCGATE_OAUTH_ISSUER: issuer.url,
      ...settings,
    },
    file: '/dev/null',
  })
  const server = await openServer(config, createLogger('silent'), { upstreams, drainMs: 0, graceMs: 0 })
  onTestFinished(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { url } = server
  const token = (claims: Fields = {}) => signToken(issuer.key, claimsOf(issuer.url, url, claims))
  const call = async (
    path: string,
    bearer?: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      body: text === '' ? {} : JSON.parse(text),
    }
  }
  const tool = (name: string, args: Fields, bearer?: string) =>
    call(
      '/mcp',
      bearer,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
      { accept: 'application/json, text/event-stream' },
    )
  await upstreamsOf(server).settled()
  return { issuer, url, token, call, tool }
}

describe.each(MODES)('a server that accepts access tokens, with %s', (mode, settings) => {
  it('a token determines the caller over REST and MCP', async () => {
    const { call, tool, token } = await serve(settings)
    const alice = await token()
    const created = await call('/v1/tasks', alice, { type: 'demo', payload: {} })
    expect(created).toMatchObject({ status: 200, challenge: null })
    const read = await call(`/v1/tasks/${created.body.task_id}`, alice)
    expect(read.body).toMatchObject({ created_by: { kind: 'agent', id: 'alice' } })
    const over = await tool('asyncgate_get_task', { task_id: created.body.task_id }, alice)
    expect(over.status).toBe(200)
    expect(JSON.stringify(over.body)).toContain(created.body.task_id)
    const claimed = await call('/v1/tasks', alice, { type: 'demo', payload: {}, principal_id: 'bob' })
    expect(claimed).toMatchObject({ status: 403, body: { details: { principal: 'agent:alice' } } })
  })

  it('an invalid token is refused, and the response says where to get another', async () => {
    const { call, tool, token, url } = await serve(settings)
    const metadata = (path: string) =>
      `resource_metadata="${url}/.well-known/oauth-protected-resource${path}"`
    const bad = await token({ exp: Math.floor(Date.now() / 1000) - 60 })
    const rest = await call('/v1/tasks', bad)
    expect(rest).toMatchObject({ status: 401, body: { message: 'The access token has expired.' } })
    expect(rest.challenge).toBe(
      `Bearer error="invalid_token", error_description="The access token has expired.", scope="${AGENT_SCOPES}", ${metadata('')}`,
    )
    const mcp = await tool('asyncgate_list_tasks', {}, bad)
    expect(mcp.status).toBe(401)
    expect(mcp.challenge).toContain(metadata('/mcp'))
  })

  it.skipIf(mode === 'insecure development')(
    'a request without a token is told where to get one',
    async () => {
      const { call, tool, url } = await serve(settings)
      for (const [path, answer] of [
        ['', await call('/v1/tasks')],
        ['/mcp', await tool('asyncgate_list_tasks', {})],
      ] as const) {
        expect(answer.status).toBe(401)
        expect(answer.challenge).toBe(
          `Bearer scope="${AGENT_SCOPES}", resource_metadata="${url}/.well-known/oauth-protected-resource${path}"`,
        )
      }
    },
  )

  it('a missing scope is a 403 that names the scope, over REST and MCP', async () => {
    const { call, tool, token } = await serve(settings)
    const reader = await token({ scope: 'tasks:read' })
    const rest = await call('/v1/tasks', reader, { type: 'demo', payload: {} })
    expect(rest).toMatchObject({ status: 403, body: { details: { required_scope: 'tasks:write' } } })
    expect(rest.challenge).toMatch(
      /^Bearer error="insufficient_scope", scope="tasks:write", resource_metadata=/,
    )
    for (const name of ['asyncgate_create_task', 'asyncgate.create_task']) {
      const mcp = await tool(name, { type: 'demo', payload: {} }, reader)
      expect(mcp.status).toBe(403)
      expect(mcp.challenge).toContain('error="insufficient_scope", scope="tasks:write"')
    }
    const found = await tool('asyncgate_list_tasks', {}, reader)
    expect(found).toMatchObject({ status: 200, challenge: null })
    const admin = await call('/v1/keys', reader)
    expect(admin).toMatchObject({ status: 403 })
    expect(admin.challenge).toContain('error="insufficient_scope", scope="admin:read"')
  })

  it('an operation for people needs a person with admin:write', async () => {
    const { call, token } = await serve(settings)
    const key = { principal: { kind: 'agent', id: 'planner' }, role: 'agent' }
    const attempt = async (claims: Fields) => (await call('/v1/keys', await token(claims), key)).status
    expect(await attempt({ principal_kind: 'human', scope: 'admin:write' })).toBe(200)
    expect(await attempt({ principal_kind: 'agent', scope: 'admin:write' })).toBe(403)
    expect(await attempt({ principal_kind: 'service', scope: 'admin:write' })).toBe(403)
    expect(await attempt({ principal_kind: 'human', scope: 'admin:read' })).toBe(403)
    expect(await attempt({ principal_kind: 'human', scope: AGENT_SCOPES })).toBe(403)
  })

  it('a token reaches only the tasks of its tenant', async () => {
    const { call, token } = await serve(settings)
    const created = await call('/v1/tasks', await token(), { type: 'demo', payload: {} })
    const path = `/v1/tasks/${created.body.task_id}`
    const admin = { principal_kind: 'human', scope: 'admin:read admin:write' }
    expect((await call(path, await token(admin))).status).toBe(200)
    expect((await call(path, await token({ ...admin, tenant_id: 'acme' }))).status).toBe(404)
    const foreign = await call(`${path}?tenant_id=acme`, await token(admin))
    expect(foreign.status).toBe(403)
  })

  it('a token cannot be used to sign in to the console, which would extend its scopes', async () => {
    const { token, url } = await serve(settings)
    const key = await token({ principal_kind: 'human', scope: 'admin:read' })
    const answer = await fetch(`${url}/console/login`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ key }),
    })
    expect(await answer.text()).toContain('An access token cannot be used to sign in')
    expect(answer.headers.getSetCookie()).toEqual([])
  })

  it('a token in the URL is refused with 400 on every path', async () => {
    const { call, token, tool } = await serve(settings)
    const alice = await token()
    for (const path of ['/v1/tasks', '/v1/tasks/x', '/health', '/console', '/nowhere']) {
      const answer = await call(`${path}?limit=1&access_token=${alice}`)
      expect([path, answer.status]).toEqual([path, 400])
      expect(answer.body.message).toContain('belongs in the Authorization header')
    }
    expect((await call(`/mcp?access_token=${alice}`, undefined, {})).status).toBe(400)
    expect((await tool('asyncgate_list_tasks', {}, alice)).status).toBe(200)
  })
})

describe('the metadata of a server that accepts access tokens', () => {
  it('names the server, its issuer and its scopes, without a credential', async () => {
    const { call, url, issuer } = await serve(SHARED)
    for (const path of ['', '/mcp']) {
      expect(await call(`/.well-known/oauth-protected-resource${path}`)).toMatchObject({
        status: 200,
        body: {
          resource: url + path,
          authorization_servers: [issuer.url],
          bearer_methods_supported: ['header'],
          scopes_supported: expect.arrayContaining(['tasks:read', 'admin:write']),
        },
      })
    }
  })

  it('uses PUBLIC_URL, which is also the audience of tokens', async () => {
    const { call, token, url } = await serve({ ...SHARED, ASYNCGATE_PUBLIC_URL: 'https://gate.example/' })
    const { body } = await call('/.well-known/oauth-protected-resource/mcp')
    expect(body.resource).toBe('https://gate.example/mcp')
    expect((await call('/v1/tasks', await token({ aud: body.resource }))).status).toBe(200)
    expect((await call('/v1/tasks', await token({ aud: 'asyncgate-api' }))).status).toBe(200)
    expect((await call('/v1/tasks', await token({ aud: url }))).status).toBe(401)
  })

  it('pages of allowed origins can read the challenge', async () => {
    const origin = 'https://app.example'
    const { url } = await serve({ ...SHARED, ASYNCGATE_ALLOWED_ORIGINS: origin })
    const { headers } = await fetch(`${url}/mcp`, { method: 'POST', headers: { origin }, body: '{}' })
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  })

  it('is absent where no issuer is configured, and tokens are then refused', async () => {
    const { call, token, issuer } = await serve({ ...SHARED, ASYNCGATE_OAUTH_ISSUER: '' })
    const answer = await call('/v1/tasks', await token())
    expect(answer).toMatchObject({ status: 401, challenge: 'Bearer' })
    expect((await call('/.well-known/oauth-protected-resource')).status).toBe(404)
    expect(issuer.state.requests).toBe(0)
  })
})

describe('the settings of access tokens', () => {
  it('claims can have other names', async () => {
    const { call, token } = await serve({
      ASYNCGATE_OAUTH_AUDIENCE: 'gate, other',
      ASYNCGATE_OAUTH_TENANT: 'acme',
      ASYNCGATE_OAUTH_TENANT_CLAIM: 'org',
      ASYNCGATE_OAUTH_KIND_CLAIM: 'https://example.com/kind',
      ASYNCGATE_OAUTH_PRINCIPAL_CLAIM: 'azp',
      ASYNCGATE_OAUTH_SCOPE_CLAIM: 'scp',
    })
    const claims = {
      aud: 'gate',
      azp: 'ci',
      'https://example.com/kind': 'service',
      scp: ['tasks:write', 'tasks:read'],
    }
    const created = await call('/v1/tasks', await token(claims), { type: 'demo', payload: {} })
    expect(created.status).toBe(200)
    const path = `/v1/tasks/${created.body.task_id}`
    expect((await call(path, await token(claims))).body).toMatchObject({
      created_by: { kind: 'service', id: 'ci' },
    })
    expect((await call(path, await token({ ...claims, org: 'other' }))).status).toBe(404)
    expect((await call(path, await token({ ...claims, aud: 'asyncgate-api' }))).status).toBe(401)
  })

  it.each([
    ['http://id.example', 'is not an https URL'],
    ['https://user:secret@id.example', 'is not an https URL'],
    ['https://id.example/?a=b', 'is not an https URL'],
    ['id.example', 'is not an https URL'],
  ])('the issuer %s is refused', (issuer, problem) => {
    const env = { ASYNCGATE_OAUTH_ISSUER: issuer }
    expect(() => loadConfig({ env, file: '/dev/null' })).toThrow(problem)
  })

  it('a server for other machines without PUBLIC_URL or OAUTH_AUDIENCE is warned about', () => {
    const warned = (settings: Readonly<Record<string, string>>) => {
      const env = { ASYNCGATE_OAUTH_ISSUER: 'https://id.example', ...settings }
      return loadConfig({ env, file: '/dev/null' }).warnings.some((text) => text.includes('audience'))
    }
    const host = { ASYNCGATE_HOST: 'gate.internal' }
    expect(warned(host)).toBe(true)
    expect(warned({ ...host, ASYNCGATE_PUBLIC_URL: 'https://gate.example' })).toBe(false)
    expect(warned({ ...host, ASYNCGATE_OAUTH_AUDIENCE: 'gate' })).toBe(false)
    expect(warned({})).toBe(false)
  })

  it('a setting without an issuer is refused, because it would have no effect', () => {
    const env = { ASYNCGATE_OAUTH_TENANT: 'acme' }
    expect(() => loadConfig({ env, file: '/dev/null' })).toThrow(
      new ConfigError(['OAUTH_TENANT needs OAUTH_ISSUER.']),
    )
  })
})

describe('upstreams', () => {
  it('a token is not passed to an upstream', async () => {
    const fixture = await httpFixture('modern')
    const upstream = web(fixture.url)
    const { tool, token } = await serve(
      { ...SHARED, ASYNCGATE_UPSTREAM_DEFAULT: 'ALLOW', ASYNCGATE_UPSTREAM_PRIVATE: '127.0.0.1' },
      [upstream],
    )
    const alice = await token()
    const answer = await tool(`${upstream.name}__echo`, { text: 'hello' }, alice)
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.body)).toContain('hello')
    expect(fixture.requests.length).toBeGreaterThan(0)
    for (const { headers, url } of fixture.requests)
      expect(JSON.stringify({ headers, url })).not.toContain(alice)
    const denied = await tool(`${upstream.name}__echo`, { text: 'x' }, await token({ scope: 'tasks:read' }))
    expect(denied.status).toBe(403)
    expect(denied.challenge).toContain('scope="tasks:write"')
  })
})

describe('requests that outlive their access token', () => {
  it('a waiting request ends when its token expires', async () => {
    const { call, token, url } = await serve(SHARED)
    const created = await call('/v1/tasks', await token(), { type: 'demo', payload: {} })
    const short = await token({ exp: Math.floor(Date.now() / 1000) + 2 })
    const started = Date.now()
    const waiting = fetch(`${url}/v1/tasks/${created.body.task_id}/wait?wait_seconds=40`, {
      headers: { authorization: `Bearer ${short}` },
    })
    await expect(waiting).rejects.toThrow('fetch failed')
    expect(Date.now() - started).toBeLessThan(10_000)
  })

  it('an issuer that cannot be reached is a 503 that can be retried', async () => {
    const { call, token, issuer } = await serve(SHARED)
    issuer.state.isDown = true
    const answer = await call('/v1/tasks', await token())
    expect(answer).toMatchObject({ status: 503, body: { code: 'ISSUER_UNAVAILABLE', retryable: true } })
    // Other credentials still work.
    expect((await call('/v1/tasks', SHARED.ASYNCGATE_API_KEY)).status).toBe(200)
  })
})
