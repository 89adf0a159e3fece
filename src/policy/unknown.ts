import type { ConditionData } from './condition-data.ts'

/** What a ruling can depend on before a call is made. */
export type Unknown = 'arguments' | 'caller' | 'session'

/** Stands for a value that is not known yet. */
export const UNKNOWN = Symbol('unknown')

/** Thrown where the value of a condition depends on something that is not known yet. */
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

/** What each root of a condition is about, if it can be unknown. The others are parts of what is asked. */
export const UNKNOWN_ROOTS: Readonly<Record<string, Unknown>> = {
  args: 'arguments',
  agent: 'caller',
  principal: 'caller',
  session: 'session',
}

const partial = new WeakSet<object>()

/** The data of a condition of which some roots are UNKNOWN. */
export function partialData(data: ConditionData): ConditionData {
  partial.add(data)
  return data
}

export function isPartial(data: unknown): boolean {
  return typeof data === 'object' && data !== null && partial.has(data)
}

/** The error for a root that is not known. */
export function unknownAt(root: string): UnknownValue {
  return new UnknownValue([UNKNOWN_ROOTS[root] ?? 'arguments'])
}
