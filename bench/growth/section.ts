import { markdownTable } from '../document.ts'
import type { StoreName } from '../engine/databases.ts'
import { type Row, round } from '../report.ts'
import { median } from '../stats.ts'
import type { Cell } from './cells.ts'

/** The databases of one dimension in one store, the smallest first. */
export interface Series {
  readonly dimension: string
  readonly store: StoreName
  readonly cells: readonly Cell[]
}

const STORES = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

/** The dimensions in which latencies may grow to 1.5 times those of the smallest database. */
const LIMITED: ReadonlySet<string> = new Set(['tasks', 'types', 'obligations'])

/** Reads without a target: a receipt is read with its whole segment, which takes a fraction of a millisecond on SQLite. */
const UNLIMITED: ReadonlySet<string> = new Set([
  'receipts by addressee',
  'receipts by task',
  'receipts by type',
  'check terminator',
])

/** Ratios to the smallest database, for the report. */
export function ratios({ dimension, store, cells }: Series): Row[] {
  const [smallest, ...larger] = cells
  if (smallest === undefined) return []
  const target = { target: { atMost: 1.5 } }
  const than = `against ${smallest.contents.label}`
  return larger.flatMap(({ contents, p50, lifecycles }) => [
    ...[...p50].map(([name, ms]) => ({
      name: `${store}: ${name}, ${contents.label}`,
      value: ms / (smallest.p50.get(name) ?? Number.NaN),
      unit: 'x',
      note: `${ms.toFixed(2)} ms ${than}`,
      ...(LIMITED.has(dimension) && !UNLIMITED.has(name) && target),
    })),
    {
      name: `${store}: lifecycles, ${contents.label}`,
      value: median(lifecycles) / median(smallest.lifecycles),
      unit: 'x',
      note: `${round(median(lifecycles))} lifecycles/s ${than}`,
    },
  ])
}

/** A table for each dimension, with both stores, and one for everything else. */
export function section(all: readonly Series[], others: readonly Row[], environment: string): string {
  const tables = [...new Set(all.map(({ dimension }) => dimension))].map((dimension) => {
    const series = all.filter((one) => one.dimension === dimension)
    const names = [...(series[0]?.cells[0]?.p50.keys() ?? [])]
    const rows = series.flatMap(({ store, cells }) =>
      cells.map((cell, i) => [
        STORES[store],
        cell.contents.label,
        ...names.map((name) => latency(cell.p50.get(name), i === 0 ? undefined : cells[0]?.p50.get(name))),
        rate(cell, i === 0 ? undefined : cells[0]),
      ]),
    )
    return markdownTable(['Store', 'Database', ...names.map(upperFirst), 'Lifecycles'], rows)
  })
  const other = markdownTable(
    ['Measurement', 'Result', ''],
    others.map(({ name, value, unit, note }) => [name, `${round(value)} ${unit}`, note ?? '']),
  )
  return [environment, ...tables, other].join('\n\n')
}

function latency(ms: number | undefined, smallest: number | undefined): string {
  if (ms === undefined) return ''
  return smallest === undefined ? `${round(ms)} ms` : round(ms / smallest)
}

function rate({ lifecycles }: Cell, smallest: Cell | undefined): string {
  const value = median(lifecycles)
  return smallest === undefined ? `${round(value)}/s` : round(value / median(smallest.lifecycles))
}

function upperFirst(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
