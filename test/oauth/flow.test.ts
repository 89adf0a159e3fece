import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { postgresUrl } from '../support/postgres.ts'
import {
  AGENT_SCOPES,
  Browser,
  begin,
  database,
  finish,
  REDIRECT,
  refresh,
  register,
  serve,
  statusWith,
} from './support.ts'

const STORES = ['SQLite', ...(postgresUrl() === undefined ? [] : (['PostgreSQL'] as const))] as const

describe.each(STORES)('the authorization server on %s', (store) => {
  it('a person signs in, allows a client, and the client gets tokens that work', async () => {
    const server = await serve(await database(store))
    const { client_id } = await register(server)
    const flow = await begin(server, client_id)
    const returned = await new Browser().decide(flow.url)
    expect(returned.href).toMatch(new RegExp(`^${REDIRECT}\\?`))
    expect(returned.searchParams.get('iss')).toBe(server.url)
    const tokens = await finish(flow, returned)
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: AGENT_SCOPES })
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' })
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: server.url,
      aud: server.url,
      sub: expect.stringMatching(/^[\w-]{32}$/),
      tenant_id: 'default',
      principal_kind: 'agent',
      principal_id: 'maria',
      scope: AGENT_SCOPES,
      client_id,
      exp: expect.any(Number),
      iat: expect.any(Number),
    })
    expect(await statusWith(server.url, tokens.access_token)).toBe(200)
    const next = await refresh(flow, tokens.refresh_token ?? '')
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    expect(await statusWith(server.url, next.access_token)).toBe(200)
  })
})
