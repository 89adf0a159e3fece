import type { Fuel } from './fuel.ts'
import { isPartial, UNKNOWN, UnknownValue, unknownAt } from './unknown.ts'

/** The names on the way to a value: `args.items.0` has three. */
export function pathOf(name: unknown): readonly string[] {
  if (name === undefined || name === null || name === '') return []
  if (typeof name !== 'string' && typeof name !== 'number')
    throw new Error('it looks at a name that is no text')
  return String(name).split('.')
}

/**
 * What stands at the end of a path, through own members only, as prototypes are no data. Undefined: nothing does.
 * Throws an UnknownValue where that is not known yet.
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
