import { describe, expect, it } from 'vitest'
import { issueKey, parseKey } from '../../../src/features/keys/format.ts'
import { cryptoRandom } from '../../../src/util/random.ts'

const PEPPER = Buffer.alloc(32, 7)
const RANDOM = cryptoRandom()

describe('key format', () => {
  it.each(['aga', 'agw'] as const)('a key with the prefix %s has the parts it was issued with', (prefix) => {
    for (const tenant of [1, 61, 62, 2_147_483_647]) {
      const { key, ...parts } = issueKey(prefix, tenant, PEPPER, RANDOM)
      expect(key).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{52}$`))
      expect(parseKey(key, PEPPER)).toEqual(parts)
      expect(parts.tenant).toBe(tenant)
    }
  })

  it('no two keys are the same', () => {
    const keys = Array.from({ length: 500 }, () => issueKey('aga', 1, PEPPER, RANDOM))
    expect(new Set(keys.map(({ key_id }) => key_id)).size).toBe(500)
    expect(new Set(keys.map(({ secret }) => secret)).size).toBe(500)
  })

  it('a key of which any character was changed is not a key', () => {
    const { key } = issueKey('aga', 5, PEPPER, RANDOM)
    for (let i = 0; i < key.length; i++) {
      const other = key[i] === 'x' ? 'y' : 'x'
      expect(parseKey(key.slice(0, i) + other + key.slice(i + 1), PEPPER)).toBeUndefined()
    }
  })

  it.each(['', 'aga_', 'aga_x', `agz_${'0'.repeat(52)}`, `aga_${'0'.repeat(52)}`, `aga_${'é'.repeat(52)}`])(
    '%j is not a key',
    (text) => {
      expect(parseKey(text, PEPPER)).toBeUndefined()
    },
  )

  it('a key of another server is not a key', () => {
    expect(parseKey(issueKey('aga', 1, PEPPER, RANDOM).key, Buffer.alloc(32, 8))).toBeUndefined()
  })
})
