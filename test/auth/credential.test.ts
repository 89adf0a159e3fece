import { describe, expect, it } from 'vitest'
import { Authenticator } from '../../src/auth/credential.ts'

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
])('the shared key is taken from %o', (headers) => {
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
])('nobody gets in with %o', (headers) => {
  expect(() => withKey.authenticate(headers)).toThrow('The credential is missing or not valid.')
  expect(() => closed.authenticate(headers)).toThrow('The credential is missing or not valid.')
})

it('a token stands in for a header that cannot be set', () => {
  expect(withKey.ofHeaders({})).toBeUndefined()
  expect(withKey.ofToken(KEY)).toEqual(SHARED)
  expect(() => withKey.ofToken('wrong')).toThrow()
  expect(() => withKey.ofToken(undefined)).toThrow()
  expect(() => withKey.ofHeaders({ 'x-api-key': 'wrong' })).toThrow()
})

it('in insecure development no key is needed, but a wrong one is wrong', () => {
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

  it('say who it is, and make an admin', () => {
    expect(auth.authenticate({ 'x-api-key': ANNA })).toEqual({
      kind: 'bound',
      tenant: 'default',
      principal: { kind: 'human', id: 'anna' },
      role: 'admin',
    })
  })

  it('leave the shared key to agents and workers', () => {
    expect(auth.authenticate({ 'x-api-key': KEY })).toEqual({ ...SHARED, no_admin: true })
    const open = new Authenticator({ api_key: null, allow_insecure_dev: true, admin_keys: { anna: ANNA } })
    expect(open.authenticate({})).toEqual({ ...SHARED, no_admin: true })
  })
})
