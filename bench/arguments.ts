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
