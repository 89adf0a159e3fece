import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextRank, type Owner, TURN } from '../../src/core/matching.ts'

interface Waiting {
  readonly owner: string
  readonly rank: number
  readonly seq: number
}

/** A queue ordered by rank, then age, as in every store. */
class Queue {
  clock = 0
  #owners = new Map<string, Owner>()
  #waiting: Waiting[] = []
  #seq = 0

  weigh(owner: string, weight: number): void {
    this.#owners.set(owner, { tenant: 1, owner, last_rank: 0, weight })
  }

  create(owner: string, count = 1): void {
    for (let i = 0; i < count; i++) {
      const known = this.#owners.get(owner) ?? { tenant: 1, owner, last_rank: 0, weight: 1 }
      const rank = nextRank(this.clock, known)
      this.#owners.set(owner, { ...known, last_rank: rank })
      this.#waiting.push({ owner, rank, seq: ++this.#seq })
    }
  }

  claim(): Waiting {
    this.#waiting.sort((a, b) => a.rank - b.rank || a.seq - b.seq)
    const next = this.#waiting.shift()
    if (next === undefined) throw new Error('nothing is waiting')
    this.clock = Math.max(this.clock, next.rank)
    return next
  }

  claimOwners(count: number): string[] {
    return Array.from({ length: count }, () => this.claim().owner)
  }
}

const owner = (last_rank: number, weight = 1): Owner => ({ tenant: 1, owner: 'agent:a', last_rank, weight })

describe('nextRank', () => {
  test('the rank is one turn after the rank being served, or after the last task of the owner', () => {
    expect(nextRank(0, owner(0))).toBe(TURN)
    expect(nextRank(5000, owner(0))).toBe(5000 + TURN)
    expect(nextRank(5000, owner(9000))).toBe(9000 + TURN)
  })

  test('a higher weight shortens the distance between ranks, which is at least 1', () => {
    expect(nextRank(0, owner(0, 2))).toBe(TURN / 2)
    expect(nextRank(0, owner(0, 0.5))).toBe(TURN * 2)
    expect(nextRank(0, owner(0, 3))).toBe(333)
    expect(nextRank(0, owner(0, 1e9))).toBe(1)
  })

  test('the rank is an integer above both the clock and the last rank', () => {
    const rank = fc.integer({ min: 0, max: 2 ** 50 })
    fc.assert(
      fc.property(rank, rank, fc.double({ min: 0.001, max: 1e6, noNaN: true }), (clock, last, weight) => {
        const next = nextRank(clock, owner(last, weight))
        expect(Number.isSafeInteger(next)).toBe(true)
        expect(next).toBeGreaterThan(Math.max(clock, last))
      }),
    )
  })
})

describe('fairness', () => {
  test('one task is not behind a thousand earlier tasks of another owner', () => {
    const queue = new Queue()
    queue.create('many', 1000)
    queue.create('one')
    expect(queue.claimOwners(2)).toContain('one')
  })

  test('one task is not behind the rest of a thousand tasks that are being served', () => {
    const queue = new Queue()
    queue.create('many', 1000)
    queue.claimOwners(500)
    queue.create('one')
    expect(queue.claimOwners(2)).toContain('one')
  })

  test('two owners with enough tasks alternate', () => {
    const queue = new Queue()
    queue.create('a', 100)
    queue.create('b', 100)
    const taken = queue.claimOwners(50)
    expect(taken.filter((name) => name === 'a')).toHaveLength(25)
    for (let i = 0; i < 50; i += 2) expect(taken[i]).not.toBe(taken[i + 1])
  })

  test('an idle owner accumulates no credit', () => {
    const queue = new Queue()
    queue.create('busy', 200)
    queue.claimOwners(100)
    queue.create('idle', 100)
    const taken = queue.claimOwners(50)
    expect(taken.filter((name) => name === 'idle').length).toBeGreaterThanOrEqual(24)
    expect(taken.filter((name) => name === 'idle').length).toBeLessThanOrEqual(26)
  })

  test.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [1, 4],
    [5, 2],
    [1, 0.5],
  ])('owners with weights %d and %d get shares in that proportion', (a, b) => {
    const queue = new Queue()
    queue.weigh('a', a)
    queue.weigh('b', b)
    queue.create('a', 700)
    queue.create('b', 700)
    const share = queue.claimOwners(600).filter((name) => name === 'a').length / 600
    expect(share).toBeGreaterThan(a / (a + b) - 0.02)
    expect(share).toBeLessThan(a / (a + b) + 0.02)
  })

  test('the tasks of one owner are served in the order of creation', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'claim'), { maxLength: 60 }), (steps) => {
        const queue = new Queue()
        const last = new Map<string, number>()
        let waiting = 0
        const claim = () => {
          const { owner, seq } = queue.claim()
          expect(seq).toBeGreaterThan(last.get(owner) ?? 0)
          last.set(owner, seq)
          waiting--
        }
        for (const step of steps) {
          if (step !== 'claim') waiting++
          if (step !== 'claim') queue.create(step)
          else if (waiting > 0) claim()
        }
        while (waiting > 0) claim()
      }),
    )
  })

  test('a new owner waits for at most two turns of each other owner, regardless of their tasks', () => {
    const loads = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(loads, fc.nat(100), (counts, served) => {
        const queue = new Queue()
        for (const [i, count] of counts.entries()) queue.create(`owner ${i}`, count)
        const total = counts.reduce((sum, count) => sum + count)
        const left = Math.max(0, total - served)
        queue.claimOwners(total - left)
        queue.create('newcomer')
        expect(queue.claimOwners(Math.min(2 * counts.length, left) + 1)).toContain('newcomer')
      }),
    )
  })
})
