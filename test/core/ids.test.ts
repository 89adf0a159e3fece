import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  isUuid,
  leaseId,
  leaseSeq,
  receiptId,
  receiptSeq,
  taskId,
  taskSeq,
  tenantSalt,
} from '../../src/core/ids.ts'
import type { Random } from '../../src/util/random.ts'
import { cryptoRandom, seededRandom } from '../../src/util/random.ts'

const seq = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const salt = fc.nat().map((seed) => tenantSalt(seededRandom(seed)))

/** The number of random bits that affect the result, found by flipping each bit. */
function randomBits(make: (random: Random) => string, bytes: number): number {
  const randomWithBit = (flipped: number): Random => ({
    unit: () => 0,
    hex(count) {
      expect(count).toBe(bytes)
      const buffer = Buffer.alloc(count)
      if (flipped >= 0) buffer[flipped >> 3] = 1 << (flipped & 7)
      return buffer.toString('hex')
    },
  })
  const ids = new Set(Array.from({ length: bytes * 8 }, (_, bit) => make(randomWithBit(bit))))
  ids.delete(make(randomWithBit(-1)))
  return ids.size
}

describe('task id', () => {
  test('a task id is a UUID of version 7 that begins with its time', () => {
    const now = Date.UTC(2026, 0, 1)
    const id = taskId(now, 1, seededRandom(1))
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isUuid(id)).toBe(true)
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(now)
  })

  test('task ids sort by time', () => {
    const time = fc.integer({ min: 0, max: 2 ** 45 })
    fc.assert(
      fc.property(time, time, fc.nat(), (a, b, seed) => {
        const random = seededRandom(seed)
        const [first, second] = [taskId(a, 1, random), taskId(b, 1, random)]
        if (a !== b) expect(first < second).toBe(a < b)
      }),
    )
  })

  test('a task id contains the seq of the task', () => {
    const random = cryptoRandom()
    for (const seq of [1, 15, 4096, 2 ** 32 - 1, 2 ** 32, 2 ** 44 - 1]) {
      const id = taskId(Date.now(), seq, random)
      expect(isUuid(id)).toBe(true)
      expect(taskSeq(id)).toBe(seq)
    }
  })

  test('only a task id contains the seq of a task', () => {
    for (const text of ['', 'x', leaseId(1, cryptoRandom()), '00000000-0000-7000-8000-000000000000']) {
      expect(taskSeq(text)).toBeUndefined()
    }
  })

  test('a task id has 30 random bits', () => {
    expect(randomBits((random) => taskId(0, 1, random), 4)).toBe(30)
  })
})

describe('lease id', () => {
  test('a lease id is a UUID of version 8 that contains the seq of its task', () => {
    const random = cryptoRandom()
    for (const seq of [1, 15, 4096, 2 ** 32, 2 ** 48 - 1]) {
      const id = leaseId(seq, random)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(leaseSeq(id)).toBe(seq)
    }
  })

  test('a lease id has 74 random bits', () => {
    expect(randomBits((random) => leaseId(1, random), 10)).toBe(74)
  })

  test.each([
    '',
    'x',
    leaseId(1, cryptoRandom()).toUpperCase(),
    '00000000-0000-8000-8000-000000000000',
    '2f1e0d0c-0b0a-4908-8706-050403020100',
  ])('%j is not a lease id', (text) => {
    expect(leaseSeq(text)).toBeUndefined()
  })

  test('a hundred thousand lease ids are distinct', () => {
    const random = cryptoRandom()
    expect(new Set(Array.from({ length: 100_000 }, () => leaseId(7, random))).size).toBe(100_000)
  })
})

describe('receipt id', () => {
  test('a receipt id is a UUID of version 8 from which its tenant reads the seq', () => {
    fc.assert(
      fc.property(salt, seq, (ours, n) => {
        const id = receiptId(ours, n)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(receiptSeq(ours, id)).toBe(n)
      }),
    )
    expect(receiptSeq('8000-000000000000', receiptId('8000-000000000000', Number.MAX_SAFE_INTEGER))).toBe(
      Number.MAX_SAFE_INTEGER,
    )
  })

  test('a receipt id is invalid for another tenant', () => {
    fc.assert(
      fc.property(salt, salt, seq, (ours, theirs, n) => {
        fc.pre(ours !== theirs)
        expect(receiptSeq(theirs, receiptId(ours, n))).toBeUndefined()
      }),
    )
  })

  test('a receipt id with one changed character names another receipt of the tenant or none', () => {
    fc.assert(
      fc.property(salt, seq, fc.nat(35), fc.string({ minLength: 1, maxLength: 1 }), (ours, n, at, other) => {
        const id = receiptId(ours, n)
        fc.pre(id[at] !== other)
        const found = receiptSeq(ours, id.slice(0, at) + other + id.slice(at + 1))
        expect(found).not.toBe(n)
        // Only a changed digit of the seq can give another valid id.
        if (found !== undefined) expect(at < 8 || (at > 8 && at < 13) || (at > 14 && at < 18)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  const ours = '8abc-0123456789ab'
  test.each([
    ['', 'empty'],
    [`00000000-0000-8000-${ours}`, 'seq 0'],
    [`ffffffff-ffff-8fff-${ours}`, 'a seq beyond 2^53'],
    [`02000000-0000-8000-${ours}`, 'just beyond 2^53'],
    [`00000000-0000-7001-${ours}`, 'another version'],
    [`00000000-0000-8001-${ours.toUpperCase()}`, 'upper case'],
    [`00000000-0000-800A-${ours}`, 'an upper-case digit'],
    [`00000000-0000-8001-${ours} `, 'a trailing space'],
    [`0000000000000-8001-${ours}`, 'a digit instead of a dash'],
    [`00000000-0000-8 01-${ours}`, 'a space inside'],
  ])('%j is not a receipt id: %s', (id) => {
    expect(receiptSeq(ours, id)).toBeUndefined()
  })

  test('the salt of a tenant has 62 random bits', () => {
    expect(randomBits(tenantSalt, 8)).toBe(62)
  })

  test('receipt ids sort by seq within a tenant', () => {
    fc.assert(
      fc.property(salt, seq, seq, (ours, a, b) => {
        if (a !== b) expect(receiptId(ours, a) < receiptId(ours, b)).toBe(a < b)
      }),
    )
  })
})

test.each([
  ['01234567-89ab-cdef-0123-456789abcdef', true],
  ['01234567-89AB-cdef-0123-456789abcdef', false],
  ['0123456789abcdef0123456789abcdef', false],
  ['01234567-89ab-cdef-0123-456789abcdef\n', false],
  ['{01234567-89ab-cdef-0123-456789abcdef}', false],
  ['', false],
])('isUuid of %j is %s', (text, expected) => {
  expect(isUuid(text)).toBe(expected)
})

describe('random sources', () => {
  test('a seed determines the random sequence', () => {
    const sample = (seed: number) => {
      const random = seededRandom(seed)
      return [random.unit(), random.hex(16), random.unit(), random.hex(3)]
    }
    expect(sample(7)).toEqual(sample(7))
    expect(sample(8)).not.toEqual(sample(7))
  })

  test('cryptoRandom never repeats, also beyond its pool of bytes', () => {
    const [one, other] = [cryptoRandom(), cryptoRandom()]
    const values = Array.from({ length: 2000 }, () => [one.hex(16), other.hex(16)]).flat()
    expect(new Set(values).size).toBe(values.length)
  })

  test.each([
    ['seeded', () => seededRandom(3)],
    ['crypto', cryptoRandom],
  ])('the %s source returns hex of the requested length and uniform numbers in [0, 1)', (_, make) => {
    const random = make()
    for (const count of [0, 1, 10, 16, 4096])
      expect(random.hex(count)).toMatch(new RegExp(`^[0-9a-f]{${2 * count}}$`))
    const units = Array.from({ length: 10_000 }, () => random.unit())
    expect(Math.min(...units)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...units)).toBeLessThan(1)
    const mean = units.reduce((sum, unit) => sum + unit) / units.length
    expect(mean).toBeGreaterThan(0.47)
    expect(mean).toBeLessThan(0.53)
  })
})
