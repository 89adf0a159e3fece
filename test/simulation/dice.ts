import type { Random } from '../../src/util/random.ts'
import { seededRandom } from '../../src/util/random.ts'

/** All randomness of a run, from one seed. */
export class Dice {
  readonly #random: Random

  constructor(seed: number) {
    this.#random = seededRandom(Math.imul(seed, 0x9e3779b1))
  }

  /** An integer below `count`. */
  below(count: number): number {
    return Math.floor(this.#random.unit() * count)
  }

  chance(probability: number): boolean {
    return this.#random.unit() < probability
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }
}

/** Waits for this many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}
