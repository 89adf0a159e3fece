import { describe, expect, it } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'
import { PROOF_HEADER, writeProof } from '../../src/auth/local-proof.ts'

const KEY = 'the-key'
const SHARED = { kind: 'shared', tenant: 'default' }

const withKey = new Authenticator({ api_key: KEY, allow_insecure_dev: false })
const open = new Authenticator({ api_key: null, allow_insecure_dev: true })
const openWithKey = new Authenticator({ api_key: KEY, allow_insecure_dev: true })
const closed = new Authenticator({ api_key: null, allow_insecure_dev: false })

it.each([
  { authorization: `Bearer ${KEY}` },
  { authorization: `bearer   ${KEY} ` },
  { 'x-api-key': KEY },
  { authorization: 'Basic dXNlcg==', 'x-api-key': KEY },
])('the shared key is read from %o', (headers) => {
  expect(withKey.authenticate(headers)).toEqual(SHARED)
})

it.each([
  {},
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: 'Bearer ' },
  { authorization: KEY },
  { authorization: 'Bearer wrong' },
  { authorization: `Bearer ${KEY} more` },
  { authorization: `Bearer ${KEY.toUpperCase()}` },
  { authorization: 'Bearer wrong', 'x-api-key': KEY },
  { 'x-api-key': '' },
  { 'x-api-key': `${KEY}x` },
  { 'x-api-key': [KEY, KEY] },
])('the credential %o is refused', (headers) => {
  expect(() => withKey.authenticate(headers)).toThrow('The credential is missing or not valid.')
  expect(() => closed.authenticate(headers)).toThrow('The credential is missing or not valid.')
})

it('a token replaces a header that cannot be set', () => {
  expect(withKey.ofHeaders({})).toBeUndefined()
  expect(withKey.ofToken(KEY)).toEqual(SHARED)
  expect(() => withKey.ofToken('wrong')).toThrow()
  expect(() => withKey.ofToken(undefined)).toThrow()
  expect(() => withKey.ofHeaders({ 'x-api-key': 'wrong' })).toThrow()
})

it('a configured key that has the form of an issued one is accepted', async () => {
  const refuse = () => Promise.reject(new Error('not issued'))
  const issued = { verify: refuse, watch: () => () => {}, current: async () => undefined }
  const similar = new Authenticator({ api_key: 'aga_shared', allow_insecure_dev: false }, issued)
  expect(similar.authenticate({ 'x-api-key': 'aga_shared' })).toEqual(SHARED)
  await expect(similar.authenticate({ 'x-api-key': 'aga_other' })).rejects.toThrow('not issued')
})

it('insecure development requires no key but refuses a wrong one', () => {
  expect(open.authenticate({})).toEqual(SHARED)
  expect(open.authenticate({ 'x-api-key': 'any' })).toEqual(SHARED)
  expect(openWithKey.authenticate({})).toEqual(SHARED)
  expect(() => openWithKey.authenticate({ 'x-api-key': 'wrong' })).toThrow()
})

describe('keys of people', () => {
  const ANNA = 'anna-anna-anna-anna'
  const auth = new Authenticator({
    api_key: KEY,
    allow_insecure_dev: false,
    admin_keys: { anna: ANNA, ben: 'ben-ben-ben-ben-ben' },
  })

  it('the key of a person identifies them with the role admin', () => {
    expect(auth.authenticate({ 'x-api-key': ANNA })).toEqual({
      kind: 'bound',
      tenant: 'default',
      principal: { kind: 'human', id: 'anna' },
      role: 'admin',
    })
  })

  it('keys of people restrict the shared key to agents and workers', () => {
    expect(auth.authenticate({ 'x-api-key': KEY })).toEqual({ ...SHARED, no_admin: true })
    const open = new Authenticator({ api_key: null, allow_insecure_dev: true, admin_keys: { anna: ANNA } })
    expect(open.authenticate({})).toEqual({ ...SHARED, no_admin: true })
  })
})

describe('key of the person who runs the server', () => {
  const LOCAL = 'the-local-key-of-ann'
  const ANN = { kind: 'bound', tenant: 'default', principal: { kind: 'human', id: 'ann' }, role: 'admin' }
  const at = { address: '127.0.0.1', port: 8080 }
  const socket = { localAddress: '127.0.0.1', localPort: 8080 }
  const proof = (key = LOCAL, where = at, when = Date.now()) => ({
    [PROOF_HEADER]: writeProof(key, where, when),
  })
  const local_keys = { ann: LOCAL }
  const dev = new Authenticator({ api_key: null, allow_insecure_dev: true, local_keys })
  const keyed = new Authenticator({ api_key: KEY, allow_insecure_dev: false, local_keys })

  it('the key identifies the person and does not restrict the shared key', () => {
    expect(keyed.authenticate({ authorization: `Bearer ${LOCAL}` })).toEqual(ANN)
    expect(dev.authenticate({ 'x-api-key': LOCAL })).toEqual(ANN)
    expect(keyed.authenticate({ authorization: `Bearer ${KEY}` })).toEqual(SHARED)
    expect(dev.authenticate({})).toEqual(SHARED)
  })

  it('the key is proved with or without the shared key', () => {
    const both = { authorization: `Bearer ${KEY}`, ...proof() }
    expect(keyed.authenticate(both, socket)).toEqual({ ...SHARED, person: ANN })
    expect(keyed.authenticate(proof(), socket)).toEqual(ANN)
    expect(dev.authenticate(proof(), socket)).toEqual({ ...SHARED, person: ANN })
  })

  it('a proof is valid only for its address and port', () => {
    const elsewhere = [
      { localAddress: '127.0.0.1', localPort: 8081 },
      { localAddress: '::1', localPort: 8080 },
      {},
    ]
    for (const other of elsewhere) expect(dev.authenticate(proof(), other)).toEqual(SHARED)
    const mapped = { localAddress: '::ffff:127.0.0.1', localPort: 8080 }
    expect(dev.authenticate(proof(), mapped)).toEqual({ ...SHARED, person: ANN })
  })

  it.each([
    ['of another key', proof('some-other-key')],
    ['that has expired', proof(LOCAL, at, Date.now() - 61_000)],
    ['that is from before the server started', proof(LOCAL, at, Date.now() - 30_000)],
    ['from the future', proof(LOCAL, at, Date.now() + 61_000)],
    ['that is malformed', { [PROOF_HEADER]: 'x' }],
    ['that is sent twice', { [PROOF_HEADER]: [proof()[PROOF_HEADER], proof()[PROOF_HEADER]] }],
  ])('the key is not proved by a proof %s', (_, headers) => {
    expect(dev.authenticate(headers, socket)).toEqual(SHARED)
    expect(() => keyed.authenticate(headers, socket)).toThrow('missing or not valid')
  })
})
