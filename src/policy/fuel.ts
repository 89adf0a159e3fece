/** Thrown when a condition costs more than it may. */
export class OutOfFuel extends Error {
  constructor() {
    super('it takes too long to evaluate')
  }
}

/** So many characters of a text cost as much as a step. */
const CHARACTERS_PER_STEP = 64

/** What an evaluation may still cost, in steps. Arguments are somebody else's, and may be large on purpose. */
export class Fuel {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  burn(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new OutOfFuel()
  }

  /** Pays for looking at a whole value, as a comparison does that turns it into a text. */
  weigh(value: unknown): void {
    if (typeof value === 'string') {
      this.burn(value.length / CHARACTERS_PER_STEP)
    } else if (Array.isArray(value)) {
      this.burn(value.length + 1)
      for (const item of value) this.weigh(item)
    }
  }

  /** Pays for looking for one text in another. */
  weighSearch(needle: unknown, hay: string): void {
    const length = typeof needle === 'string' ? needle.length : 1
    this.burn((hay.length / CHARACTERS_PER_STEP) * (1 + length / CHARACTERS_PER_STEP))
  }
}
