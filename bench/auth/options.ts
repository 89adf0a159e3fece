import { parseArgs } from 'node:util'
import { chosen, countOption, STORES } from '../arguments.ts'
import type { StoreName } from '../engine/databases.ts'
import type { Turns } from '../paired.ts'

export const PARTS = ['engine', 'rest', 'batch', 'mcp', 'flood'] as const
export type Part = (typeof PARTS)[number]

export interface Options {
  readonly stores: readonly StoreName[]
  readonly parts: readonly Part[]
  readonly turns: Turns
}

/** `--store` and `--only` may be repeated. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: 'string', multiple: true },
      only: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
    },
  })
  return {
    stores: chosen('store', values.store, STORES),
    parts: chosen('only', values.only, PARTS),
    turns: {
      rounds: countOption('rounds', values.rounds, 15),
      seconds: countOption('seconds', values.seconds, 2),
    },
  }
}
