import { parseArgs } from 'node:util'
import { chosen, countOption, STORES } from '../arguments.ts'
import type { StoreName } from '../engine/databases.ts'
import type { Turns } from '../paired.ts'

export const PARTS = ['throughput', 'outage', 'verification'] as const
export type Part = (typeof PARTS)[number]

export interface Options {
  /** How many receipts are verified. */
  readonly receipts: number
  readonly stores: readonly StoreName[]
  readonly parts: readonly Part[]
  readonly turns: Turns
}

/** `--store` and `--only` may be repeated. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      receipts: { type: 'string' },
      store: { type: 'string', multiple: true },
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
    },
  })
  return {
    receipts: countOption('receipts', values.receipts, 1_000_000),
    stores: chosen('store', values.store, STORES),
    parts: chosen('only', values.only, PARTS),
    turns: {
      rounds: countOption('rounds', values.rounds, 10),
      seconds: countOption('seconds', values.seconds, 4),
    },
  }
}
