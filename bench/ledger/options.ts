import { parseArgs } from 'node:util'
import { countOption, UsageError } from '../arguments.ts'

export const PARTS = ['throughput', 'verification'] as const
export type Part = (typeof PARTS)[number]

export interface Options {
  /** How many receipts are verified. */
  readonly receipts: number
  readonly parts: readonly Part[]
}

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { receipts: { type: 'string' }, only: { type: 'string' } },
  })
  const only = PARTS.find((part) => part === values.only)
  if (values.only !== undefined && only === undefined) {
    throw new UsageError(`--only: unknown part "${values.only}". Parts: ${PARTS.join(', ')}`)
  }
  return {
    receipts: countOption('receipts', values.receipts, 1_000_000),
    parts: only === undefined ? PARTS : [only],
  }
}
