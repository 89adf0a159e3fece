/** The value of an option that is a positive integer. */
export function countOption(name: string, text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${name} must be a positive integer, not "${text}"`)
  return value
}
