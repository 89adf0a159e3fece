import { describe, expect, it } from 'vitest'
import { callerFor, SignIns, signingSecret } from '../../src/console/sign-in.ts'
import { admin } from '../support/gates.ts'

const HOURS = 3_600_000
const DATABASE = Buffer.alloc(32, 1)

/** A server on which people have these keys. */
const settings = (...keys: string[]) => ({
  api_key: null,
  allow_insecure_dev: false,
  admin_keys: Object.fromEntries(keys.map((key, i) => [`person ${i}`, key])),
})

describe('console sign-ins', () => {
  it('a sign-in is valid on every server with the same database and keys', () => {
    const one = new SignIns(signingSecret(DATABASE, settings('key one', 'key two')))
    const other = new SignIns(signingSecret(DATABASE, settings('key two', 'key one')))
    const cookie = one.write(one.begin(admin(), true))
    const read = other.read(cookie)
    expect(read && callerFor(read)).toEqual(admin())
  })

  it('a sign-in is invalid after the keys change, and on other databases', () => {
    const before = new SignIns(signingSecret(DATABASE, settings('key one', 'key two')))
    const cookie = before.write(before.begin(admin(), true))
    expect(new SignIns(signingSecret(DATABASE, settings('key one'))).read(cookie)).toBeUndefined()
    expect(new SignIns(signingSecret(DATABASE, settings())).read(cookie)).toBeUndefined()
    const elsewhere = signingSecret(Buffer.alloc(32, 2), settings('key one', 'key two'))
    expect(new SignIns(elsewhere).read(cookie)).toBeUndefined()
  })

  it('a sign-in ends after 12 hours', () => {
    let now = 0
    const signIns = new SignIns(signingSecret(DATABASE, settings()), () => now)
    const cookie = signIns.write(signIns.begin(admin(), true))
    now = 12 * HOURS - 1
    expect(signIns.read(cookie)).toBeDefined()
    now = 12 * HOURS
    expect(signIns.read(cookie)).toBeUndefined()
  })

  it('a modified sign-in is invalid', () => {
    const signIns = new SignIns(signingSecret(DATABASE, settings('key')))
    const cookie = signIns.write(signIns.begin(admin(), true))
    const [body = '', signature = ''] = cookie.split('.')
    const changed = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'))
    const forged = Buffer.from(JSON.stringify({ ...changed, person: 'boss' })).toString('base64url')
    for (const text of [`${forged}.${signature}`, body, `${body}.`, `${cookie}.x`, '', '.', 'x.y']) {
      expect(signIns.read(text)).toBeUndefined()
    }
  })

  it('each sign-in has its own form token, which is not a cookie', () => {
    const signIns = new SignIns(signingSecret(DATABASE, settings('key')))
    const [mine, theirs] = [signIns.begin(admin(), true), signIns.begin(admin(), true)]
    expect(signIns.isFormToken(mine, signIns.formToken(mine))).toBe(true)
    expect(signIns.isFormToken(mine, signIns.formToken(theirs))).toBe(false)
    expect(signIns.isFormToken(mine, '')).toBe(false)
    expect(signIns.isFormToken(mine, signIns.write(mine))).toBe(false)
  })
})
