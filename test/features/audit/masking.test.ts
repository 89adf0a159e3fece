import { describe, expect, it } from 'vitest'
import { masked } from '../../../src/features/audit/masking.ts'

const KEY = `aga_${'x1'.repeat(26)}`

describe('masking', () => {
  it.each([
    'password',
    'token',
    'access_token',
    'api_key',
    'X-API-Key',
    'key',
    'client_secret',
    'Authorization',
    'Cookie',
  ])('the value of a field named %s is masked', (name) => {
    expect(masked({ [name]: 'abc', nested: [{ [name]: { deep: 1 } }] })).toEqual({
      [name]: '***',
      nested: [{ [name]: '***' }],
    })
  })

  it.each(['key_id', 'tokens_used', 'name', 'keyboard'])('the field %s is not masked', (name) => {
    expect(masked({ [name]: 'abc' })).toEqual({ [name]: 'abc' })
  })

  it.each([
    ['an issued key', KEY],
    ['a bearer token', 'Bearer abcdefgh12345678'],
    ['a webhook secret', 'whsec_abcdefgh12345678'],
    ['a signed token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.c2lnbmF0dXJl'],
    ['a password in a URL', 'https://user:hunter22@example.com/'],
  ])('%s is masked wherever it stands', (_, secret) => {
    const shown = JSON.stringify(masked({ note: `before ${secret} after`, [secret]: [secret] }))
    expect(shown).toContain('***')
    expect(shown).not.toMatch(/x1x1|abcdefgh|eyJ|hunter22/)
    expect(shown).toContain('before ')
  })

  it.each([
    ['anna@example.com', 'a***@example.com'],
    ['"odd@local"@example.com', '"***@example.com'],
    ['@example.com', '***@example.com'],
    ['no address', '***'],
  ])('the email address %s is shown as %s', (address, shown) => {
    expect(masked({ email: address, nested: [{ 'Email-Address': address }], principal: address })).toEqual({
      email: shown,
      nested: [{ 'Email-Address': shown }],
      principal: address,
    })
    expect(masked({ email: null })).toEqual({ email: null })
  })

  it('deep and large values are cut', () => {
    const deep = JSON.parse(`${'['.repeat(50)}1${']'.repeat(50)}`)
    expect(JSON.stringify(masked(deep)).length).toBeLessThan(50)
    expect(
      JSON.stringify(masked({ text: 'a'.repeat(100_000), list: Array(1000).fill(1) })).length,
    ).toBeLessThan(1_500)
  })
})
