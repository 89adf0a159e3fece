import { createHmac } from 'node:crypto'
import { decodeJwt, exportSPKI, importJWK } from 'jose'
import * as oauth from 'oauth4webapi'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { databaseOf } from '../../src/config/database.ts'
import type { OpenServer } from '../../src/server/open-server.ts'
import { openStore } from '../../src/server/open-store.ts'
import { postgresUrl } from '../support/postgres.ts'
import {
  Browser,
  begin,
  database,
  type Flow,
  finish,
  KEY,
  REDIRECT,
  refresh,
  register,
  type Settings,
  serve,
  statusWith,
} from './support.ts'

const WEB = 'https://app.example/oauth/callback'

async function open(settings: Settings = {}) {
  const server = await serve({ ...(await database('SQLite')), ...settings })
  return { server, client: await register(server, { redirect_uris: [REDIRECT, WEB] }) }
}

async function granted(server: OpenServer, client_id: string) {
  const flow = await begin(server, client_id)
  return { flow, tokens: await finish(flow, await new Browser().decide(flow.url)) }
}

/** Redeems a code as it is, without the checks of a client. */
function redeem({ as, client, verifier }: Flow, returned: URL, base?: string, redirect_uri = REDIRECT) {
  const endpoint = base === undefined ? as.token_endpoint : `${base}/oauth/token`
  return fetch(endpoint ?? '', {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client.client_id,
      code: returned.searchParams.get('code') ?? '',
      redirect_uri,
      code_verifier: verifier,
    }),
  })
}

/** The codes and refresh tokens of a database. */
async function storedTokens(settings: Settings): Promise<string> {
  const store = await openStore(databaseOf(settings.ASYNCGATE_DATABASE_URL ?? ''), { besideServer: true })
  try {
    const { tenant } = await store.tenant('default')
    return JSON.stringify(await store.entries.list(tenant, 'oauth_token', '', 100))
  } finally {
    await store.close()
  }
}

/** The body of a response, of which a test knows the shape. */
async function json(response: Response) {
  return JSON.parse(await response.text())
}

describe('redirect URIs', () => {
  it.each([
    ['a longer path', `${REDIRECT}/more`],
    ['a shorter path', 'http://127.0.0.1:9/'],
    ['another case', 'http://127.0.0.1:9/Callback'],
    ['another port', 'http://127.0.0.1:10/callback'],
    ['no port', 'http://127.0.0.1/callback'],
    ['localhost for 127.0.0.1', 'http://localhost:9/callback'],
    ['https for http', 'https://127.0.0.1:9/callback'],
    ['a fragment', `${REDIRECT}#x`],
    ['a query', `${REDIRECT}?x=1`],
    ['a user name', 'http://evil@127.0.0.1:9/callback'],
    ['a longer host', 'https://app.example.evil.test/oauth/callback'],
    ['an encoded path', 'https://app.example/oauth%2Fcallback'],
    ['a dot segment', 'https://app.example/oauth/x/../callback'],
    ['a slash at the end', `${WEB}/`],
    ['a script', 'javascript:alert(1)'],
  ])('%s is refused without a redirect', async (_name, redirect_uri) => {
    const { server, client } = await open()
    const { url } = await begin(server, client.client_id, { redirect_uri })
    const response = await fetch(url, { redirect: 'manual' })
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await response.text()).toContain('The application cannot be allowed')
  })

  it('a code is bound to the redirect URI that it was sent to', async () => {
    const { server, client } = await open()
    const flow = await begin(server, client.client_id)
    const returned = await new Browser().decide(flow.url)
    expect((await redeem(flow, returned, undefined, WEB)).status).toBe(400)
  })
})

describe('PKCE', () => {
  it.each([
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }],
    ['the method plain', { code_challenge_method: 'plain' }],
    ['no method, which means plain', { code_challenge_method: undefined }],
  ])('%s is refused', async (_name, over) => {
    const { server, client } = await open()
    const { url } = await begin(server, client.client_id, over)
    const { url: returned } = await new Browser().open(url)
    expect(returned.searchParams.get('error')).toBe('invalid_request')
    expect(returned.searchParams.get('code')).toBeNull()
  })

  it('a code is worthless without its verifier', async () => {
    const { server, client } = await open()
    const flow = await begin(server, client.client_id)
    const returned = await new Browser().decide(flow.url)
    const response = await redeem({ ...flow, verifier: oauth.generateRandomCodeVerifier() }, returned)
    expect(await response.json()).toMatchObject({ error: 'invalid_grant' })
  })
})

describe.each(['SQLite', ...(postgresUrl() === undefined ? [] : (['PostgreSQL'] as const))] as const)(
  'codes and refresh tokens on %s',
  (store) => {
    it('a code that is used again ends the tokens of its first use', async () => {
      const server = await serve(await database(store))
      const { client_id } = await register(server)
      const flow = await begin(server, client_id)
      const returned = await new Browser().decide(flow.url)
      const tokens = await finish(flow, returned)
      expect(await statusWith(server.url, tokens.access_token)).toBe(200)
      expect(await (await redeem(flow, returned)).json()).toMatchObject({ error: 'invalid_grant' })
      await expect.poll(() => statusWith(server.url, tokens.access_token), { timeout: 3000 }).toBe(401)
      await expect(refresh(flow, tokens.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      })
      const { events } = await server.gate.listAudit(
        { tenant: 'default', principal: { kind: 'human', id: 'maria' }, role: 'admin' },
        { event: 'token_reused' },
      )
      expect(events).toMatchObject([{ subject: client_id, severity: 'critical' }])
    })

    it('of many requests with one code, on one server or on two, at most one succeeds', async () => {
      const settings = { ...(await database(store)), ASYNCGATE_PUBLIC_URL: 'http://127.0.0.1:1' }
      const first = await serve(settings)
      const servers = store === 'SQLite' ? [first] : [first, await serve(settings)]
      const { client_id } = await register(first)
      const flow = await begin({ url: 'http://127.0.0.1:1' }, client_id, {}, first.url)
      const returned = await new Browser().decide(flow.url)
      const responses = await Promise.all(
        servers.flatMap(({ url }) => Array.from({ length: 5 }, () => redeem(flow, returned, url))),
      )
      expect(responses.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
      expect(responses.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(
        responses.length - 1,
      )
    })

    it('a refresh token that is used again ends the whole family', async () => {
      const server = await serve(await database(store))
      const { client_id } = await register(server)
      const { flow, tokens } = await granted(server, client_id)
      const second = await refresh(flow, tokens.refresh_token ?? '')
      const third = await refresh(flow, second.refresh_token ?? '')
      await expect(refresh(flow, tokens.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      })
      await expect(refresh(flow, third.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' })
      await expect.poll(() => statusWith(server.url, third.access_token), { timeout: 3000 }).toBe(401)
    })

    it('the database contains neither codes nor refresh tokens', async () => {
      const settings = await database(store)
      const server = await serve(settings)
      const { client_id } = await register(server)
      const flow = await begin(server, client_id)
      const returned = await new Browser().decide(flow.url)
      const tokens = await finish(flow, returned)
      const stored = await storedTokens(settings)
      expect(stored).toContain(client_id)
      expect(stored).not.toContain(returned.searchParams.get('code') ?? '?')
      expect(stored).not.toContain(tokens.refresh_token ?? '?')
    })
  },
)

describe('access tokens', () => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

  it('a token that is signed with the public key as a shared secret, or not at all, is refused', async () => {
    const { server, client } = await open()
    const { tokens } = await granted(server, client.client_id)
    const claims = { ...decodeJwt(tokens.access_token), scope: 'admin:write', principal_kind: 'human' }
    const { keys } = await json(await fetch(`${server.url}/oauth/jwks`))
    const key = await importJWK(keys[0], 'RS256')
    if (key instanceof Uint8Array) throw new Error('the key is symmetric')
    for (const secret of [await exportSPKI(key), JSON.stringify(keys[0]), keys[0].n]) {
      const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: keys[0].kid })}.${encode(claims)}`
      const signature = createHmac('sha256', secret).update(signed).digest('base64url')
      expect(await statusWith(server.url, `${signed}.${signature}`)).toBe(401)
    }
    for (const alg of ['none', 'None', 'RS256']) {
      const unsigned = `${encode({ alg, typ: 'at+jwt', kid: keys[0].kid })}.${encode(claims)}.`
      expect(await statusWith(server.url, unsigned)).toBe(401)
    }
    expect(Object.keys(keys[0]).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
  })

  it('a changed claim invalidates the signature', async () => {
    const { server, client } = await open()
    const { tokens } = await granted(server, client.client_id)
    const [header, , signature] = tokens.access_token.split('.')
    const claims = { ...decodeJwt(tokens.access_token), tenant_id: 'acme' }
    expect(await statusWith(server.url, `${header}.${encode(claims)}.${signature}`)).toBe(401)
  })

  it('a token of another server, with the same name and other keys, is refused', async () => {
    const settings = { ASYNCGATE_PUBLIC_URL: 'http://127.0.0.1:1' }
    const [one, other] = [await open(settings), await open(settings)]
    const flow = await begin({ url: 'http://127.0.0.1:1' }, one.client.client_id, {}, one.server.url)
    const returned = await new Browser().decide(flow.url)
    const { access_token } = await json(await redeem(flow, returned, one.server.url))
    expect(await statusWith(one.server.url, access_token)).toBe(200)
    expect(await statusWith(other.server.url, access_token)).toBe(401)
  })

  it('a resource of another server is refused', async () => {
    const { server, client } = await open()
    for (const resource of ['https://elsewhere.example', `${server.url}/v1`, `${server.url}.evil.test`]) {
      const { url } = await begin(server, client.client_id, { resource })
      const { url: returned } = await new Browser().open(url)
      expect([resource, returned.searchParams.get('error')]).toEqual([resource, 'invalid_target'])
    }
  })

  it('an access token in the URL is refused', async () => {
    const { server, client } = await open()
    const { tokens } = await granted(server, client.client_id)
    const response = await fetch(`${server.url}/v1/tasks?access_token=${tokens.access_token}`)
    expect(response.status).toBe(400)
  })

  it('a refresh token is no access token', async () => {
    const { server, client } = await open()
    const { tokens } = await granted(server, client.client_id)
    expect(await statusWith(server.url, tokens.refresh_token ?? '')).toBe(401)
  })

  it('an expired token is refused', async () => {
    const { server, client } = await open()
    const { tokens } = await granted(server, client.client_id)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3600_000 + 10_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await statusWith(server.url, tokens.access_token)).toBe(401)
  })
})

describe('tenants', () => {
  it('a person of another tenant cannot allow a client, and a token reaches only its own tenant', async () => {
    const { server } = await open()
    const { gate, url } = server
    const admin = { tenant: 'acme', principal: { kind: 'human', id: 'root' }, role: 'admin' } as const
    const { key } = await gate.createKey(admin, { principal: { kind: 'human', id: 'zoe' }, role: 'admin' })
    const [ours, theirs] = [await register(server), await register(server, { tenant: 'acme' })]
    const foreign = await begin(server, ours.client_id)
    const stopped = await new Browser().decide(foreign.url, 'allow', key)
    expect(stopped.pathname).toMatch(/^\/console\/oauth\//)
    const flow = await begin(server, theirs.client_id)
    const tokens = await finish(flow, await new Browser().decide(flow.url, 'allow', key))
    expect(decodeJwt(tokens.access_token)).toMatchObject({ tenant_id: 'acme', principal_id: 'zoe' })
    const created = await gate.createTask(
      { tenant: 'default', principal: { kind: 'agent', id: 'zoe' }, role: 'agent' },
      { type: 'demo', payload: {} },
    )
    expect(await statusWith(url, tokens.access_token, `/v1/tasks/${created.task_id}`)).toBe(404)
    expect(await statusWith(url, tokens.access_token, '/v1/tasks?tenant_id=default')).toBe(403)
  })
})

describe('consent', () => {
  it('a person who refuses sends the client an error', async () => {
    const { server, client } = await open()
    const flow = await begin(server, client.client_id)
    const returned = await new Browser().decide(flow.url, 'deny')
    expect(() => oauth.validateAuthResponse(flow.as, flow.client, returned, flow.state)).toThrow(
      expect.objectContaining({ error: 'access_denied' }),
    )
  })

  it('another browser cannot decide a request, and a form of another site is refused', async () => {
    const { server, client } = await open()
    const victim = new Browser()
    const { url } = await begin(server, client.client_id)
    const own = await begin(server, client.client_id)
    await victim.decide(own.url, 'deny')
    const { url: page } = await new Browser().open(url)
    const path = page.searchParams.get('next') ?? ''
    expect(path).toMatch(/^\/console\/oauth\//)
    const seen = await victim.open(new URL(path, server.url))
    expect(seen).toMatchObject({ status: 404 })
    const forged = await victim.fetch(new URL(path, server.url), { decision: 'allow', token: 'x' })
    expect(forged.status).toBe(403)
  })

  it('an address shows only the request that its browser has begun', async () => {
    const { server, client } = await open()
    const browser = new Browser()
    const [mine, theirs] = [await begin(server, client.client_id), await begin(server, client.client_id)]
    const path = (await new Browser().open(theirs.url)).url.searchParams.get('next') ?? ''
    expect((await browser.open(mine.url)).url.pathname).toBe('/console/login')
    await browser.open(new URL('/console/login', server.url), { key: KEY, next: '/console' })
    expect(await browser.open(new URL(path, server.url))).toMatchObject({ status: 404 })
  })

  it('a request for several resources is refused', async () => {
    const { server, client } = await open()
    const { url } = await begin(server, client.client_id)
    url.searchParams.append('resource', `${server.url}/mcp`)
    const stopped = await new Browser().decide(url)
    expect(stopped.origin).toBe(server.url)
  })

  it('a person grants no more than they have', async () => {
    const { server } = await open()
    const admin = { tenant: 'default', principal: { kind: 'human', id: 'maria' }, role: 'admin' } as const
    const wide = await register(server, { scopes: ['tasks:read', 'admin:read', 'admin:write'] })
    const scope = 'tasks:read admin:read admin:write'
    for (const [role, expected] of [
      ['agent', 'tasks:read'],
      ['viewer', 'tasks:read admin:read'],
      ['operator', 'tasks:read admin:read'],
      ['admin', scope],
    ] as const) {
      const { key } = await server.gate.createKey(admin, { principal: { kind: 'human', id: role }, role })
      const flow = await begin(server, wide.client_id, { scope })
      const tokens = await finish(flow, await new Browser().decide(flow.url, 'allow', key))
      expect([role, tokens.scope]).toEqual([role, expected])
    }
  })

  it('a client gets no more than was registered', async () => {
    const { server } = await open()
    const narrow = await register(server, { scopes: ['tasks:read'] })
    const flow = await begin(server, narrow.client_id, { scope: 'tasks:read,tasks:write,admin:write' })
    const tokens = await finish(flow, await new Browser().decide(flow.url))
    expect(tokens.scope).toBe('tasks:read')
  })

  it('every request is confirmed, also by a person who has allowed the client before', async () => {
    const { server, client } = await open()
    const browser = new Browser()
    const first = await begin(server, client.client_id)
    await finish(first, await browser.decide(first.url))
    const second = await begin(server, client.client_id)
    expect((await browser.open(second.url)).page).toContain('Allow')
    const silent = await begin(server, client.client_id, { prompt: 'none' })
    const { url } = await browser.open(silent.url)
    expect(url.searchParams.get('error')).toBe('login_required')
  })
})

describe('cookies', () => {
  it('are hidden from scripts and other sites, and sent only over TLS where the public URL has it', async () => {
    const { server, client } = await open({ ASYNCGATE_PUBLIC_URL: 'https://gate.example' })
    const { url } = await begin({ url: 'https://gate.example' }, client.client_id, {}, server.url)
    const response = await fetch(url, { redirect: 'manual', headers: { 'x-forwarded-host': 'evil.test' } })
    const cookies = response.headers.getSetCookie()
    expect(cookies.length).toBeGreaterThan(0)
    for (const cookie of cookies) {
      expect(cookie).toMatch(/; samesite=lax; secure; httponly/i)
      expect(cookie).toMatch(
        /^(__Host-asyncgate_oauth_session(\.sig)?=.*; path=\/;|__Secure-asyncgate_oauth_)/,
      )
    }
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json()
    expect(metadata).toMatchObject({
      issuer: 'https://gate.example',
      token_endpoint: 'https://gate.example/oauth/token',
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
    })
  })
})
