import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { IssuedKeys } from '../../src/auth/issued-keys.ts'
import { Fault } from '../../src/core/errors.ts'
import { issueKey, parseKey } from '../../src/features/keys/format.ts'
import type { StoredKey } from '../../src/features/keys/record.ts'
import { hashSecret, isSecretOf } from '../../src/features/keys/secret-hash.ts'
import { cryptoRandom } from '../../src/util/random.ts'

const PEPPER = Buffer.alloc(32, 7)
const RANDOM = cryptoRandom()

/** The keys of one tenant, with counts of what was read. */
async function registry() {
  const { key, key_id, secret } = issueKey('aga', 1, PEPPER, RANDOM)
  const stored: StoredKey = {
    key_id,
    prefix: 'aga',
    tenant: 'default',
    name: null,
    principal: { kind: 'agent', id: 'alice' },
    role: 'agent',
    scopes: null,
    capabilities: null,
    hash: await hashSecret(secret),
    created_at: 0,
    created_by: 'human:root',
    expires_at: null,
    revoked_at: null,
    revoked_by: null,
    replaced_by: null,
  }
  const state = { record: stored, changes: 0, down: false }
  const counts = { records: 0, changes: 0, uses: 0, hashes: 0 }
  const reading = <T>(value: T): Promise<T> =>
    state.down ? Promise.reject(new Error('the database is down')) : Promise.resolve(value)
  const keys = {
    parse: async (text: string) => parseKey(text, PEPPER),
    get: (_: number, id: string) => {
      counts.records++
      return reading(id === key_id ? state.record : undefined)
    },
    changes: () => {
      counts.changes++
      return reading(state.changes)
    },
    used: async () => {
      counts.uses++
    },
  }
  const isSecret = (phc: string, secret: string) => {
    counts.hashes++
    return isSecretOf(phc, secret)
  }
  const issued = new IssuedKeys(keys, () => {}, isSecret)
  onTestFinished(() => issued.stop())
  const change = (over: Partial<StoredKey>) => {
    state.record = { ...state.record, ...over }
    state.changes++
  }
  return { key, key_id, issued, counts, state, change }
}

const REFUSED = { code: 'UNAUTHENTICATED' }

describe('authentication with issued keys', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setInterval', 'clearInterval'] })
    return () => vi.useRealTimers()
  })

  it('a text that was not issued is refused without a look at the database', async () => {
    const { issued, counts } = await registry()
    const foreign = issueKey('aga', 1, Buffer.alloc(32, 8), RANDOM).key
    for (const text of ['aga_', `aga_${'x'.repeat(52)}`, foreign]) {
      await expect(issued.verify(text)).rejects.toMatchObject(REFUSED)
    }
    expect(counts).toEqual({ records: 0, changes: 0, uses: 0, hashes: 0 })
  })

  it('a verified key is recognized synchronously', async () => {
    const { issued, key, key_id, counts } = await registry()
    const credential = await issued.verify(key)
    expect(credential).toMatchObject({ kind: 'bound', principal: { id: 'alice' }, role: 'agent', key_id })
    expect(issued.verify(key)).toBe(credential)
    expect(counts).toEqual({ records: 1, changes: 1, uses: 1, hashes: 1 })
  })

  it('concurrent requests with a new key share one verification', async () => {
    const { issued, key, counts } = await registry()
    const credentials = await Promise.all([issued.verify(key), issued.verify(key), issued.verify(key)])
    expect(new Set(credentials).size).toBe(1)
    expect(counts.records).toBe(1)
  })

  it('a client that may cause no verification is refused before a hash is computed', async () => {
    const { issued, key, counts } = await registry()
    const refuse = () => {
      throw new Fault('RATE_LIMIT_EXCEEDED')
    }
    expect(() => issued.verify(key, undefined, refuse)).toThrow(Fault)
    expect(counts).toEqual({ records: 0, changes: 0, uses: 0, hashes: 0 })
    const credential = await issued.verify(key)
    expect(issued.verify(key, undefined, refuse)).toBe(credential)
    vi.advanceTimersByTime(2_000)
    expect(await issued.verify(key, undefined, refuse)).toBe(credential)
    expect(counts.hashes).toBe(1)
  })

  it('a key keeps its credential while other keys of its tenant change', async () => {
    const { issued, key, change } = await registry()
    const credential = await issued.verify(key)
    change({})
    vi.advanceTimersByTime(1_000)
    expect(await issued.verify(key)).toBe(credential)
    change({ role: 'worker' })
    vi.advanceTimersByTime(1_000)
    expect(await issued.verify(key)).toMatchObject({ role: 'worker' })
  })

  it('a revoked key is refused within a second', async () => {
    const { issued, key, change } = await registry()
    await issued.verify(key)
    change({ revoked_at: Date.now() })
    vi.advanceTimersByTime(1_000)
    await expect(issued.verify(key)).rejects.toMatchObject(REFUSED)
  })

  it('a connection is recognized only with the key that it sent before, and until that is revoked', async () => {
    const { issued, key, change } = await registry()
    const connection = {}
    const credential = await issued.verify(key, connection)
    for (let request = 0; request < 2; request++) expect(issued.verify(key, connection)).toBe(credential)
    const other = issueKey('aga', 1, PEPPER, RANDOM).key
    await expect(issued.verify(other, connection)).rejects.toMatchObject(REFUSED)
    change({ revoked_at: Date.now() })
    vi.advanceTimersByTime(1_000)
    await expect(issued.verify(key, connection)).rejects.toMatchObject(REFUSED)
  })

  it('while keys do not change, one small read a second is enough', async () => {
    const { issued, key, counts } = await registry()
    const credential = await issued.verify(key)
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1_000)
      expect(await issued.verify(key)).toBe(credential)
    }
    expect(counts.records).toBe(1)
    expect(counts.changes).toBe(11)
  })

  it('a key that expires is refused without a read', async () => {
    const { issued, key, change } = await registry()
    change({ expires_at: Date.now() + 500 })
    await issued.verify(key)
    vi.advanceTimersByTime(500)
    expect(() => issued.verify(key)).toThrow(expect.objectContaining(REFUSED))
  })

  it('during an outage no key is accepted for longer than a second', async () => {
    const { issued, key, state } = await registry()
    await issued.verify(key)
    state.down = true
    expect(issued.verify(key)).not.toBeInstanceOf(Promise)
    vi.advanceTimersByTime(1_000)
    await expect(issued.verify(key)).rejects.toThrow('the database is down')
  })

  it('a watched key reports its end once', async () => {
    const { issued, key, change } = await registry()
    const credential = await issued.verify(key)
    const end = vi.fn()
    issued.watch(credential, end)
    issued.watch(credential, vi.fn())()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(end).not.toHaveBeenCalled()
    change({ revoked_at: Date.now() })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(end).toHaveBeenCalledOnce()
  })

  it('the current credential of a key that was verified elsewhere ends with the key', async () => {
    const { issued, key_id, change } = await registry()
    expect(await issued.current(key_id)).toMatchObject({ principal: { id: 'alice' } })
    change({ revoked_at: Date.now() })
    vi.advanceTimersByTime(1_000)
    expect(await issued.current(key_id)).toBeUndefined()
    expect(await issued.current('nonsense')).toBeUndefined()
  })
})
