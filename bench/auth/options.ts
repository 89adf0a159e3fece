import { parseArgs } from 'node:util'
import { countOption, UsageError } from '../arguments.ts'
import type { StoreName } from '../engine/databases.ts'
import type { Turns } from '../paired.ts'

export const STORES: readonly StoreName[] = ['sqlite', 'postgres']
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

function chosen<Name extends string>(
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
