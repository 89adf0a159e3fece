import type { StoreName } from './engine/databases.ts'

export const STORES: readonly StoreName[] = ['sqlite', 'postgres']

/** A mistake in the command line, which is printed without a stack. */
export class UsageError extends Error {}

/** The value of an option that is a positive integer. */
export function countOption(name: string, text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new UsageError(`--${name} must be a positive integer, not "${text}"`)
  return value
}

/** The values of an option that may be repeated; all known ones if it is absent. */
export function chosen<Name extends string>(
  option: string,
  names: readonly string[] | undefined,
  known: readonly Name[],
): readonly Name[] {
  if (names === undefined) return known
  return names.map((name) => {
    const found = known.find((each) => each === name)
    if (found === undefined) {
      throw new UsageError(`--${option}: unknown value "${name}". Values: ${known.join(', ')}`)
    }
    return found
  })
}
