import { createPublicKey } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { AccessTokens } from '../../src/auth/access-tokens.ts'
import { RemoteIssuer } from '../../src/auth/remote-issuer.ts'
import { OWN_CLAIMS, scopesOf } from '../../src/auth/token-claims.ts'
import { claimsOf, type SigningKey, signingKey, signToken } from '../support/issuer.ts'

const ISSUER = 'https://id.example/realms/a'
const SERVER = 'https://gate.example'
const REFUSED = { code: 'UNAUTHENTICATED', details: { reason: 'invalid_token' } }

let key: SigningKey
beforeAll(async () => {
  key = await signingKey('first')
})

function verifier({ tenant = null as string | null, algorithms = undefined as string[] | undefined } = {}) {
  const state = { keys: [key.jwk], isDown: false, issuer: ISSUER }
  const fetched: string[] = []
  const errors: unknown[] = []
  const issuer = new RemoteIssuer({
    issuer: ISSUER,
    claims: OWN_CLAIMS,
    tenant,
    async fetchJson(url) {
      fetched.push(url)
      if (state.isDown) throw new Error('down')
      if (url === 'https://id.example/jwks') return { keys: state.keys }
      if (url !== `${ISSUER}/.well-known/openid-configuration`) return undefined
      return {
        issuer: state.issuer,
        jwks_uri: 'https://id.example/jwks',
        id_token_signing_alg_values_supported: algorithms,
      }
    },
    onError: (error) => errors.push(error),
  })
  const tokens = new AccessTokens({ issuer, audiences: () => [SERVER, `${SERVER}/mcp`, 'asyncgate-api'] })
  onTestFinished(() => tokens.stop())
  return { tokens, state, fetched, errors, verify: async (text: string) => tokens.verify(text) }
}

const claims = (over: Readonly<Record<string, unknown>> = {}) => claimsOf(ISSUER, SERVER, over)
const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset

/** Advances the clocks without running timers. */
function useClock() {
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('access tokens', () => {
  it('a valid token determines tenant, principal, role and scopes', async () => {
    const { verify } = verifier()
    const over = { tenant_id: 'acme', principal_kind: 'service', principal_id: 'ci' }
    expect(await verify(await signToken(key, claims(over)))).toEqual({
      kind: 'bound',
      tenant: 'acme',
      principal: { kind: 'service', id: 'ci' },
      role: 'agent',
      scopes: ['tasks:read', 'tasks:write', 'receipts:read', 'receipts:ack'],
      token: { expires_at: expect.any(Number) },
    })
  })

  it.each([
    ['another audience', { aud: 'https://other.example' }],
    ['an audience that only begins like this server', { aud: `${SERVER}.evil.example` }],
    ['another path of this server', { aud: `${SERVER}/other` }],
    ['no audience', { aud: undefined }],
    ['an empty list of audiences', { aud: [] }],
    ['another issuer', { iss: 'https://id.example/realms/b' }],
    ['an issuer with a slash', { iss: `${ISSUER}/` }],
    ['no issuer', { iss: undefined }],
    ['an expiry in the past', { exp: seconds(-60) }],
    ['no expiry', { exp: undefined }],
    ['an expiry that is text', { exp: '9999999999' }],
    ['a start in the future', { nbf: seconds(60) }],
    ['an issue time in the future', { iat: seconds(60) }],
    ['no issue time', { iat: undefined }],
    ['no subject', { sub: undefined }],
    ['no tenant', { tenant_id: undefined }],
    ['a tenant that is no text', { tenant_id: ['default'] }],
    ['an empty tenant', { tenant_id: '' }],
    ['an unknown kind of principal', { principal_kind: 'root' }],
    ['the kind system', { principal_kind: 'system', principal_id: 'x' }],
    ['a reserved principal', { principal_kind: 'service', principal_id: 'gateway' }],
    ['a reserved principal in other letters', { principal_kind: 'service', principal_id: 'Gate\u200Bway' }],
  ])('a token with %s is refused', async (_, over) => {
    const { verify } = verifier()
    await expect(verify(await signToken(key, claims(over)))).rejects.toMatchObject(REFUSED)
  })

  it.each([
    ['one of several audiences', { aud: ['https://other.example', `${SERVER}/mcp`] }],
    ['the URL of this server with a slash', { aud: `${SERVER}/` }],
    ['the general audience', { aud: 'asyncgate-api' }],
    ['a clock that is a few seconds ahead', { iat: seconds(3), nbf: seconds(3) }],
  ])('a token with %s is accepted', async (_, over) => {
    const { verify } = verifier()
    expect(await verify(await signToken(key, claims(over)))).toMatchObject({ tenant: 'default' })
  })

  it.each(['id+jwt', 'dpop+jwt', 'logout+jwt'])('a token of the type %s is refused', async (typ) => {
    const { verify } = verifier()
    await expect(verify(await signToken(key, claims(), { typ }))).rejects.toMatchObject(REFUSED)
  })

  it('an unsigned token is refused', async () => {
    const { verify, tokens } = verifier()
    const unsigned = new UnsecuredJWT(claims()).encode()
    expect(tokens.isToken(unsigned)).toBe(true)
    await expect(verify(unsigned)).rejects.toMatchObject(REFUSED)
  })

  it('a token that is signed by HMAC with the public key is refused', async () => {
    const { verify } = verifier({ algorithms: ['RS256', 'HS256', 'none'] })
    const pem = createPublicKey({ key: key.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [Buffer.from(pem), Buffer.from(JSON.stringify(key.jwk))]) {
      const forged = new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'first', typ: 'at+jwt' })
      await expect(verify(await forged.sign(secret))).rejects.toMatchObject(REFUSED)
    }
  })

  it('a token with another key under a known key id is refused', async () => {
    const { verify } = verifier()
    const forged = await signToken(await signingKey('first'), claims())
    await expect(verify(forged)).rejects.toMatchObject(REFUSED)
  })

  it('a token that names an unusable key of the issuer is refused', async () => {
    const { verify, state } = verifier()
    state.keys = [{ kty: 'RSA', kid: 'first', alg: 'RS256', n: 'AQAB', e: 'AQAB' }]
    await expect(verify(await signToken(key, claims()))).rejects.toMatchObject(REFUSED)
  })

  it('a key in the header of the token is not used', async () => {
    const { verify } = verifier()
    const other = await signingKey('other')
    const forged = await signToken(other, claims(), { jwk: other.jwk, jku: 'https://evil.example/jwks' })
    await expect(verify(forged)).rejects.toMatchObject(REFUSED)
  })

  it('changed claims invalidate the signature', async () => {
    const { verify } = verifier()
    const [header, , signature] = (await signToken(key, claims())).split('.')
    const body = Buffer.from(JSON.stringify(claims({ tenant_id: 'acme' }))).toString('base64url')
    await expect(verify(`${header}.${body}.${signature}`)).rejects.toMatchObject(REFUSED)
  })

  it('algorithms other than RS256 need the metadata of the issuer', async () => {
    const elliptic = await signingKey('elliptic', 'ES256')
    const token = await signToken(elliptic, claims())
    const without = verifier()
    without.state.keys = [elliptic.jwk]
    await expect(without.verify(token)).rejects.toMatchObject(REFUSED)
    const named = verifier({ algorithms: ['ES256'] })
    named.state.keys = [elliptic.jwk]
    expect(await named.verify(token)).toMatchObject({ tenant: 'default' })
  })

  it('tokens of other issuers and texts that are no tokens fetch nothing', async () => {
    const { verify, fetched, tokens } = verifier()
    await expect(verify(await signToken(key, claims({ iss: 'https://evil.example' })))).rejects.toMatchObject(
      REFUSED,
    )
    for (const text of ['eyJ.e30.x', 'eyJhbGciOiJSUzI1NiJ9.bm90IGpzb24.x', `eyJ${'a'.repeat(20_000)}.e30.x`])
      await expect(verify(text)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(fetched).toEqual([])
    expect([tokens.isToken('aga_abc'), tokens.isToken('a.b.c'), tokens.isToken('')]).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the role of an access token', () => {
  it.each([
    ['tasks:read tasks:write', 'agent', 'agent'],
    ['tasks:lease', 'agent', 'worker'],
    ['tasks:lease,receipts:read', 'service', 'worker'],
    ['tasks:lease tasks:write', 'agent', 'agent'],
    ['tasks:write', 'worker', 'worker'],
    ['admin:write', 'worker', 'worker'],
    ['admin:write', 'human', 'admin'],
    ['openid profile', 'agent', 'agent'],
  ])('the scopes %s of a principal of the kind %s give the role %s', async (scope, principal_kind, role) => {
    const { verify } = verifier()
    expect(await verify(await signToken(key, claims({ scope, principal_kind })))).toMatchObject({ role })
  })

  it('admin:read without admin:write does not combine with scopes that write', async () => {
    const { verify } = verifier()
    const scope = 'tasks:read tasks:write tasks:lease receipts:ack admin:read'
    expect(await verify(await signToken(key, claims({ scope, principal_kind: 'human' })))).toMatchObject({
      role: 'admin',
      scopes: ['tasks:read', 'admin:read'],
    })
  })

  it('scopes are separated by spaces or commas, or listed; unknown ones are ignored', () => {
    for (const value of ['tasks:read tasks:write', 'tasks:write,tasks:read', ['tasks:read', 'tasks:write']])
      expect(scopesOf(value)).toEqual(['tasks:read', 'tasks:write'])
    for (const value of ['', 'TASKS:READ tasks', undefined, null, 7, {}]) expect(scopesOf(value)).toEqual([])
  })

  it('a token without a kind is for an agent, and without a principal for its subject', async () => {
    const { verify } = verifier()
    const token = await signToken(key, claims({ principal_kind: undefined, principal_id: undefined }))
    expect(await verify(token)).toMatchObject({ principal: { kind: 'agent', id: 'user-1' } })
  })

  it('a token without a tenant belongs to the configured one', async () => {
    const { verify } = verifier({ tenant: 'acme' })
    expect(await verify(await signToken(key, claims({ tenant_id: undefined })))).toMatchObject({
      tenant: 'acme',
    })
    expect(await verify(await signToken(key, claims()))).toMatchObject({ tenant: 'default' })
  })
})

describe('verified access tokens', () => {
  it('a verified token is recognized synchronously, for a minute', async () => {
    useClock()
    const { tokens, verify } = verifier()
    const token = await signToken(key, claims())
    const credential = await verify(token)
    expect(tokens.verify(token)).toBe(credential)
    vi.advanceTimersByTime(59_000)
    expect(tokens.verify(token)).toBe(credential)
    vi.advanceTimersByTime(2_000)
    expect(tokens.verify(token)).toBeInstanceOf(Promise)
  })

  it('a recognized token is refused once it has expired', async () => {
    useClock()
    const { tokens, verify } = verifier()
    const token = await signToken(key, claims({ exp: seconds(20) }))
    await verify(token)
    vi.advanceTimersByTime(26_000)
    await expect(tokens.verify(token)).rejects.toMatchObject(REFUSED)
  })

  it('the watcher of a credential is called when its token expires, unless it unsubscribes', async () => {
    useClock()
    const { tokens, verify } = verifier()
    const credential = await verify(await signToken(key, claims({ exp: seconds(20) })))
    const ended = vi.fn()
    const unsubscribed = vi.fn()
    tokens.watch(credential, ended)
    tokens.watch(credential, unsubscribed)()
    vi.advanceTimersByTime(18_000)
    expect(ended).not.toHaveBeenCalled()
    vi.advanceTimersByTime(3_000)
    expect(ended).toHaveBeenCalledOnce()
    expect(unsubscribed).not.toHaveBeenCalled()
  })
})

describe('the keys of an issuer', () => {
  it('are loaded once for many tokens', async () => {
    const { verify, fetched } = verifier()
    const signed = ['alice', 'bob', 'carol'].map((id) => signToken(key, claims({ principal_id: id })))
    await Promise.all((await Promise.all(signed)).map(verify))
    expect(fetched.filter((url) => url.endsWith('/jwks'))).toHaveLength(1)
  })

  it('are loaded again for an unknown key id, at most every 30 seconds', async () => {
    useClock()
    const { verify, fetched, state } = verifier()
    const loads = () => fetched.filter((url) => url.endsWith('/jwks')).length
    await verify(await signToken(key, claims()))
    const second = await signingKey('second')
    const token = await signToken(second, claims())
    await expect(verify(token)).rejects.toMatchObject(REFUSED)
    expect(loads()).toBe(1)
    vi.advanceTimersByTime(31_000)
    state.keys = [key.jwk, second.jwk]
    expect(await verify(token)).toMatchObject({ tenant: 'default' })
    expect(loads()).toBe(2)
    await expect(verify(await signToken(await signingKey('third'), claims()))).rejects.toMatchObject(REFUSED)
    expect(loads()).toBe(2)
  })

  it('an issuer that cannot be reached is a retryable error, and is tried again after five seconds', async () => {
    useClock()
    const { verify, fetched, state, errors } = verifier()
    state.isDown = true
    const token = await signToken(key, claims())
    await expect(verify(token)).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE', retryable: true })
    await expect(verify(token)).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE' })
    expect([fetched.length, errors.length]).toEqual([1, 1])
    state.isDown = false
    vi.advanceTimersByTime(6_000)
    expect(await verify(token)).toMatchObject({ tenant: 'default' })
  })

  it('are used while the issuer cannot be reached, for a day', async () => {
    useClock()
    const { verify, state } = verifier()
    await verify(await signToken(key, claims()))
    state.isDown = true
    vi.advanceTimersByTime(23 * 3600_000)
    expect(await verify(await signToken(key, claims()))).toMatchObject({ tenant: 'default' })
    vi.advanceTimersByTime(2 * 3600_000)
    const late = await signToken(key, claims())
    await expect(verify(late)).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE' })
  })

  it('a key that the issuer has removed is refused after ten minutes', async () => {
    useClock()
    const { verify, state } = verifier()
    await verify(await signToken(key, claims()))
    state.keys = [(await signingKey('second')).jwk]
    vi.advanceTimersByTime(11 * 60_000)
    // The first token after that loads the keys in the background.
    await verify(await signToken(key, claims({ principal_id: 'bob' })))
    await vi.waitFor(async () => {
      const token = signToken(key, claims({ principal_id: `carol ${Math.random()}` }))
      await expect(verify(await token)).rejects.toMatchObject(REFUSED)
    })
  })

  it('metadata of another issuer is not used', async () => {
    const { verify, state, errors } = verifier()
    state.issuer = 'https://evil.example'
    await expect(verify(await signToken(key, claims()))).rejects.toMatchObject({ code: 'ISSUER_UNAVAILABLE' })
    expect(String(errors[0])).toContain('is for the issuer https://evil.example')
  })
})
