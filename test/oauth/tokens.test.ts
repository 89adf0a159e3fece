import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import type { OpenServer } from '../../src/server/open-server.ts'
import { postgresUrl } from '../support/postgres.ts'
import {
  AGENT_SCOPES,
  Browser,
  begin,
  database,
  finish,
  INSECURE,
  refresh,
  register,
  serve,
  statusWith,
} from './support.ts'

const MARIA = { tenant: 'default', principal: { kind: 'human', id: 'maria' }, role: 'admin' } as const
const STORES = ['SQLite', ...(postgresUrl() === undefined ? [] : (['PostgreSQL'] as const))] as const

async function granted(server: OpenServer, client_id: string, over = {}, key?: string) {
  const flow = await begin(server, client_id, over)
  return { flow, tokens: await finish(flow, await new Browser().decide(flow.url, 'allow', key)) }
}

/** The kid of the key that signed a token. */
const kidOf = (token: string) => decodeProtectedHeader(token).kid

describe.each(STORES)('tokens on %s', (store) => {
  it('an admin ends all tokens of a principal, and every request that waits with one', async () => {
    const server = await serve(await database(store))
    const { client_id } = await register(server)
    const { flow, tokens } = await granted(server, client_id)
    const { key } = await server.gate.createKey(MARIA, {
      principal: { kind: 'human', id: 'ann' },
      role: 'agent',
    })
    const other = await granted(server, client_id, {}, key)
    const task = await server.gate.createTask(
      { tenant: 'default', principal: { kind: 'agent', id: 'maria' }, role: 'agent' },
      { type: 'demo', payload: {} },
    )
    const waiting = fetch(`${server.url}/v1/tasks/${task.task_id}/wait?wait_seconds=40`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    const ended = expect(waiting).rejects.toThrow('fetch failed')
    // The request has to arrive before its token ends.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const principal = { kind: 'agent', id: 'maria' }
    expect(await server.gate.revokeTokens(MARIA, { principal })).toEqual({ revoked: 1 })
    await expect.poll(() => statusWith(server.url, tokens.access_token), { timeout: 2000 }).toBe(401)
    await ended
    await expect(refresh(flow, tokens.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' })
    expect(await statusWith(server.url, other.tokens.access_token)).toBe(200)
    expect(await server.gate.revokeTokens(MARIA, {})).toEqual({ revoked: 1 })
    await expect.poll(() => statusWith(server.url, other.tokens.access_token), { timeout: 2000 }).toBe(401)
    const { events } = await server.gate.listAudit(MARIA, { event: 'token_revoked' })
    expect(events).toHaveLength(2)
  })

  it('a rotated key signs new tokens, and tokens of the old key stay valid', async () => {
    const server = await serve(await database(store))
    const { client_id } = await register(server)
    const { flow, tokens } = await granted(server, client_id)
    const kid = await server.gate.oauth.signingKeys.rotate(3600_000)
    expect(kidOf(tokens.access_token)).not.toBe(kid)
    await expect
      .poll(async () => kidOf((await granted(server, client_id)).tokens.access_token), { timeout: 5000 })
      .toBe(kid)
    const next = await refresh(flow, tokens.refresh_token ?? '')
    expect(kidOf(next.access_token)).toBe(kid)
    expect(await statusWith(server.url, next.access_token)).toBe(200)
    expect(await statusWith(server.url, tokens.access_token)).toBe(200)
    const { keys } = await server.gate.oauth.signingKeys.load()
    expect(keys.map((key) => key.kid)).toEqual([kid, kidOf(tokens.access_token)])
    await server.gate.oauth.signingKeys.rotate(0)
    expect((await server.gate.oauth.signingKeys.load()).keys).toHaveLength(1)
  })

  it('a client that is removed loses its tokens', async () => {
    const server = await serve(await database(store))
    const { client_id } = await register(server)
    const { tokens } = await granted(server, client_id)
    expect(await server.gate.removeOauthClient(MARIA, { client_id })).toEqual({ client_id, revoked: 1 })
    await expect.poll(() => statusWith(server.url, tokens.access_token), { timeout: 2000 }).toBe(401)
  })
})

it('a token that one server revokes is refused by another within a second', async () => {
  if (postgresUrl() === undefined) return
  const settings = { ...(await database('PostgreSQL')), ASYNCGATE_PUBLIC_URL: 'http://127.0.0.1:1' }
  const [one, other] = [await serve(settings), await serve(settings)]
  const { client_id } = await register(one)
  const flow = await begin({ url: 'http://127.0.0.1:1' }, client_id, {}, one.url)
  const as = { ...flow.as, token_endpoint: `${other.url}/oauth/token` }
  const tokens = await finish({ ...flow, as }, await new Browser().decide(flow.url))
  expect(await statusWith(one.url, tokens.access_token)).toBe(200)
  expect(await statusWith(other.url, tokens.access_token)).toBe(200)
  await one.gate.revokeTokens(MARIA, {})
  await new Promise((resolve) => setTimeout(resolve, 1000))
  expect(await statusWith(other.url, tokens.access_token)).toBe(401)
})

describe('the endpoints for tokens', () => {
  it.each(['access_token', 'refresh_token'] as const)(
    'a client introspects and revokes its %s',
    async (kind) => {
      const server = await serve(await database('SQLite'))
      const { client_id } = await register(server)
      const { flow, tokens } = await granted(server, client_id)
      const token = String(tokens[kind])
      const introspect = async (client: oauth.Client) => {
        const sent = await oauth.introspectionRequest(flow.as, client, oauth.None(), token, INSECURE)
        return oauth.processIntrospectionResponse(flow.as, client, sent)
      }
      expect(await introspect(flow.client)).toMatchObject({ active: true, client_id, scope: AGENT_SCOPES })
      const other = { client_id: (await register(server)).client_id }
      expect(await introspect(other)).toEqual({ active: false })
      const revoke = async (client: oauth.Client) =>
        oauth.processRevocationResponse(
          await oauth.revocationRequest(flow.as, client, oauth.None(), token, INSECURE),
        )
      await revoke(other)
      expect(await introspect(flow.client)).toMatchObject({ active: true })
      await revoke(flow.client)
      expect(await introspect(flow.client)).toEqual({ active: false })
      await expect.poll(() => statusWith(server.url, tokens.access_token), { timeout: 2000 }).toBe(401)
      await expect(refresh(flow, tokens.refresh_token ?? '')).rejects.toMatchObject({
        error: 'invalid_grant',
      })
    },
  )

  it('tokens of a person whose key is revoked cannot be refreshed', async () => {
    const server = await serve(await database('SQLite'))
    const { client_id } = await register(server)
    const ann = { principal: { kind: 'human', id: 'ann' }, role: 'agent' }
    const { key, key_id } = await server.gate.createKey(MARIA, ann)
    const { flow, tokens } = await granted(server, client_id, {}, key)
    const next = await refresh(flow, tokens.refresh_token ?? '')
    await server.gate.revokeKey(MARIA, { key_id })
    await expect(refresh(flow, next.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' })
  })
})

describe('scopes and principals', () => {
  it.each([
    ['agent', AGENT_SCOPES],
    ['worker', 'tasks:lease receipts:read'],
  ] as const)(
    'a client for the kind %s that asks for no scopes gets the default ones',
    async (principal_kind, scope) => {
      const server = await serve(await database('SQLite'))
      const redirect_uris = ['http://127.0.0.1:9/callback']
      const { client_id } = await server.gate.createOauthClient(MARIA, {
        client_name: 'A client',
        redirect_uris,
        principal_kind,
      })
      const { tokens } = await granted(server, client_id, { scope: undefined, resource: undefined })
      expect(new Set(tokens.scope?.split(' '))).toEqual(new Set(scope.split(' ')))
      expect(decodeJwt(tokens.access_token)).toMatchObject({
        principal_kind,
        principal_id: 'maria',
        aud: server.url,
      })
    },
  )

  it('an agent with admin:write still cannot do what requires a person; a client for people can', async () => {
    const server = await serve(await database('SQLite'))
    for (const [principal_kind, status] of [
      ['agent', 403],
      ['human', 200],
    ] as const) {
      const { client_id } = await register(server, { scopes: ['admin:read', 'admin:write'], principal_kind })
      const { tokens } = await granted(server, client_id, { scope: 'admin:read admin:write' })
      const response = await fetch(`${server.url}/v1/keys`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ principal: { kind: 'agent', id: 'planner' }, role: 'agent' }),
      })
      expect([principal_kind, response.status]).toEqual([principal_kind, status])
    }
  })
})
