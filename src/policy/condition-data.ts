import type { Fuel } from './operators.ts'

/** The variables of conditions. */
export const CONDITION_ROOTS = [
  'tool',
  'upstream',
  'category',
  'type',
  'agent',
  'principal',
  'tenant',
  'session',
  'args',
  'inputs',
  'body',
  'payload_pointer',
  'requirements',
] as const

export type ConditionData = { readonly [root in (typeof CONDITION_ROOTS)[number]]: unknown }

/** What a ruling can depend on before a call is made. */
export type Unknown = 'arguments' | 'caller' | 'session'

export const UNKNOWN = Symbol('unknown')

/** Thrown if the value of a condition depends on an unknown value. */
export class UnknownValue extends Error {
  readonly on: ReadonlySet<Unknown>

  constructor(on: Iterable<Unknown>) {
    super('it depends on what is not known yet')
    this.on = new Set(on)
  }

  and(other: UnknownValue | undefined): UnknownValue {
    return other === undefined ? this : new UnknownValue([...this.on, ...other.on])
  }
}

/** The kind of each variable that can be unknown. */
export const UNKNOWN_ROOTS: Readonly<Record<string, Unknown>> = {
  args: 'arguments',
  agent: 'caller',
  principal: 'caller',
  session: 'session',
}

const partial = new WeakSet<object>()

/** Marks data in which some variables are UNKNOWN. */
export function partialData(data: ConditionData): ConditionData {
  partial.add(data)
  return data
}

export function isPartial(data: unknown): boolean {
  return typeof data === 'object' && data !== null && partial.has(data)
}

export function unknownAt(root: string): UnknownValue {
  return new UnknownValue([UNKNOWN_ROOTS[root] ?? 'arguments'])
}

/** Splits a name such as `args.items.0` into its parts. */
export function pathOf(name: unknown): readonly string[] {
  if (name === undefined || name === null || name === '') return []
  if (typeof name !== 'string' && typeof name !== 'number')
    throw new Error('it contains a variable name that is not text')
  return String(name).split('.')
}

/**
 * The value at a path, through own members only; undefined if there is none. Throws an UnknownValue if it is unknown.
 */
export function reach(data: unknown, path: readonly string[], fuel: Fuel): unknown {
  fuel.burn(1 + path.length)
  if (path.length === 0 && isPartial(data)) throw new UnknownValue(['arguments'])
  let value = data
  for (const name of path) {
    if (value === null || value === undefined) return undefined
    if (!Object.hasOwn(Object(value), name)) return undefined
    value = Reflect.get(Object(value), name)
    if (value === UNKNOWN) throw unknownAt(name)
  }
  return value
}
