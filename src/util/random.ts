import { randomFillSync } from 'node:crypto'

/** Randomness, passed in so that a run can be repeated. */
export interface Random {
  /** A number in [0, 1). */
  unit(): number
  /** `count` random bytes as hex. */
  hex(count: number): string
}

const POOL_BYTES = 4096

/** Unguessable randomness. Bytes come from a pool, because a system call for each id would cost more than the id. */
export function cryptoRandom(): Random {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return {
    unit: () => Math.random(),
    hex(count) {
      if (used + count > POOL_BYTES) {
        randomFillSync(pool)
        used = 0
      }
      used += count
      return pool.toString('hex', used - count, used)
    },
  }
}

/** The same sequence for the same seed (mulberry32), for runs that must be repeatable. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const unit = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    unit,
    hex: (count) =>
      Array.from({ length: count }, () =>
        Math.floor(unit() * 256)
          .toString(16)
          .padStart(2, '0'),
      ).join(''),
  }
}
