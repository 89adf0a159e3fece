import { parseArgs } from 'node:util'
import { countOption, UsageError } from '../arguments.ts'

export const DIMENSIONS = ['tasks', 'tenants', 'types', 'obligations', 'servers', 'snapshot', 'size'] as const
export type DimensionName = (typeof DIMENSIONS)[number]

export interface Options {
  /** The largest number of stored tasks. */
  readonly max: number
  /** Seconds of load while a snapshot is held. */
  readonly hold: number
  readonly dimensions: readonly DimensionName[]
  readonly write: boolean
}

const SMALLEST = 1000
const LARGEST = 10_000_000

export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      max: { type: 'string' },
      hold: { type: 'string' },
      only: { type: 'string', multiple: true },
      write: { type: 'boolean' },
    },
  })
  const max = countOption('max', values.max, 1_000_000)
  if (max < 10 * SMALLEST || max > LARGEST) {
    throw new UsageError(`--max must be from ${10 * SMALLEST} to ${LARGEST}, because ratios need two sizes`)
  }
  if (values.write && values.only !== undefined) {
    throw new UsageError('--write needs all dimensions, so it cannot be combined with --only')
  }
  return {
    max,
    hold: countOption('hold', values.hold, 60),
    dimensions: values.only === undefined ? DIMENSIONS : values.only.map(dimension),
    write: values.write ?? false,
  }
}

function dimension(name: string): DimensionName {
  const found = DIMENSIONS.find((known) => known === name)
  if (found === undefined) {
    throw new UsageError(`--only: unknown dimension "${name}". Dimensions: ${DIMENSIONS.join(', ')}`)
  }
  return found
}

/** What a database contains. */
export interface Contents {
  /** Which one of its dimension it is, such as `1,000 tenants`. */
  readonly label: string
  readonly tenants: number
  readonly types: number
  /** Succeeded tasks of all tenants together. */
  readonly finished: number
  /** Queued tasks of all tenants together. */
  readonly open: number
}

/** The most tasks of the dimensions that do not grow their number. */
const FIXED_TOTAL = 100_000
/** The fewest tasks of a tenant, so that the pages that are listed are full: 50 finished and 50 open ones. */
const PER_TENANT = 100

/** The databases to compare, the smallest first. */
export function contentsOf(
  dimension: 'tasks' | 'tenants' | 'types' | 'obligations',
  max: number,
): Contents[] {
  const total = Math.min(max, FIXED_TOTAL)
  const base = { tenants: 1, types: 10, finished: total / 2, open: total / 2 }
  const label = (count: number, noun: string) =>
    `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
  switch (dimension) {
    case 'tasks':
      return powersOfTen(max).map((count) => ({
        ...base,
        label: label(count, 'stored task'),
        finished: count / 2,
        open: count / 2,
      }))
    case 'tenants':
      return [1, 10, 100, 1000]
        .filter((tenants) => tenants * PER_TENANT <= total)
        .map((tenants) => ({ ...base, label: label(tenants, 'tenant'), tenants }))
    case 'types':
      return [10, 1000, 20_000]
        .filter((types) => types <= base.open)
        .map((types) => ({ ...base, label: label(types, 'type'), types }))
    case 'obligations':
      return [SMALLEST, Math.min(max, 1_000_000)].map((open) => ({
        ...base,
        label: label(open, 'open obligation'),
        finished: 0,
        open,
      }))
  }
}

function powersOfTen(max: number): number[] {
  const powers: number[] = []
  for (let power = SMALLEST; power <= max; power *= 10) powers.push(power)
  return powers
}
