interface Operator {
  /** The number of arguments. With too few, a comparison would silently be false. */
  readonly takes: readonly [least: number, most: number]
  apply(args: readonly unknown[], fuel: Fuel): unknown
}

const ANY_NUMBER = 1000

/** As in other implementations of JSON Logic, an empty list is false. */
export function isTruthy(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}

/** An operator that may convert its arguments, which costs as much as they are large. */
function weighing(
  least: number,
  most: number,
  apply: (a: never, b: never, c: never, ...rest: never[]) => unknown,
): Operator {
  return {
    takes: [least, most],
    apply(args, fuel) {
      for (const arg of args) fuel.weigh(arg)
      return Reflect.apply(apply, undefined, args)
    },
  }
}

type Value = string | number

/** Operators over evaluated arguments. Comparisons convert as JavaScript does. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  // biome-ignore lint/suspicious/noDoubleEquals: JSON Logic has both.
  '==': weighing(2, 2, (a: Value, b: Value) => a == b),
  '===': weighing(2, 2, (a: Value, b: Value) => a === b),
  // biome-ignore lint/suspicious/noDoubleEquals: JSON Logic has both.
  '!=': weighing(2, 2, (a: Value, b: Value) => a != b),
  '!==': weighing(2, 2, (a: Value, b: Value) => a !== b),
  '>': weighing(2, 2, (a: Value, b: Value) => a > b),
  '>=': weighing(2, 2, (a: Value, b: Value) => a >= b),
  '<': weighing(2, 3, (a: Value, b: Value, c?: Value) => a < b && (c === undefined || b < c)),
  '<=': weighing(2, 3, (a: Value, b: Value, c?: Value) => a <= b && (c === undefined || b <= c)),
  '!': { takes: [1, 1], apply: ([a]) => !isTruthy(a) },
  '!!': { takes: [1, 1], apply: ([a]) => isTruthy(a) },
  '+': weighing(1, ANY_NUMBER, (...args: Value[]) => args.map(asNumber).reduce((sum, n) => sum + n, 0)),
  '*': weighing(2, ANY_NUMBER, (...args: Value[]) => args.map(asNumber).reduce((product, n) => product * n)),
  '-': weighing(1, 2, (a: number, b?: number) => (b === undefined ? -a : a - b)),
  '/': weighing(2, 2, (a: number, b: number) => a / b),
  '%': weighing(2, 2, (a: number, b: number) => a % b),
  min: weighing(1, ANY_NUMBER, (...args: number[]) => Math.min(...args)),
  max: weighing(1, ANY_NUMBER, (...args: number[]) => Math.max(...args)),
  cat: weighing(1, ANY_NUMBER, (...args: unknown[]) => args.join('')),
  substr: weighing(2, 3, substr),
  in: {
    takes: [2, 2],
    apply([item, all], fuel) {
      if (typeof all === 'string') {
        fuel.weigh(item)
        const text = String(item)
        fuel.weighSearch(text, all)
        return all !== '' && all.includes(text)
      }
      if (!Array.isArray(all)) return false
      fuel.weigh(all)
      return all.includes(item)
    },
  },
  merge: {
    takes: [1, ANY_NUMBER],
    apply(args, fuel) {
      for (const arg of args) fuel.burn(Array.isArray(arg) ? arg.length : 1)
      return args.flat(1)
    },
  },
}

function asNumber(value: Value): number {
  return Number.parseFloat(String(value))
}

/** A negative length counts from the end of the text. */
function substr(source: unknown, start: number, length?: number): string {
  const text = String(source)
  const from = Math.trunc(start) < 0 ? Math.max(text.length + Math.trunc(start), 0) : Math.trunc(start) || 0
  const rest = text.slice(from)
  if (length === undefined) return rest
  return length < 0 ? rest.slice(0, Math.max(rest.length + length, 0)) : rest.slice(0, length)
}

export class OutOfFuel extends Error {
  constructor() {
    super('it takes too long to evaluate')
  }
}

/** The number of characters that cost one step. */
const CHARACTERS_PER_STEP = 64

/** The remaining budget of an evaluation in steps. Arguments are untrusted and may be large on purpose. */
export class Fuel {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  burn(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new OutOfFuel()
  }

  /** Charges for a complete value, as for a comparison that converts it to text. */
  weigh(value: unknown): void {
    if (typeof value === 'string') {
      this.burn(value.length / CHARACTERS_PER_STEP)
    } else if (Array.isArray(value)) {
      this.burn(value.length + 1)
      for (const item of value) this.weigh(item)
    }
  }

  /** Charges for a search in a text. */
  weighSearch(needle: unknown, hay: string): void {
    const length = typeof needle === 'string' ? needle.length : 1
    this.burn((hay.length / CHARACTERS_PER_STEP) * (1 + length / CHARACTERS_PER_STEP))
  }
}
