import { z } from 'zod'

/** Text that both stores keep as it is, and that fits into a line. It may be empty. */
export function text(max: number) {
  return z.string().max(max).refine(isPlain, 'is not plain text')
}

/** The same, and there is some. */
export function line(max: number) {
  return z.string().min(1).max(max).refine(isPlain, 'is not plain text')
}

function isPlain(value: string): boolean {
  return value.isWellFormed() && !/\p{Cc}/u.test(value)
}

/** A pattern that schemas do not show: models pay for each, and few can read it. */
export function fitting(pattern: RegExp, problem: string) {
  return z.string().refine((value) => pattern.test(value), problem)
}
