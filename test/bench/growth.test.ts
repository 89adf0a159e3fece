import { describe, expect, it } from 'vitest'
import type { Cell, ReadName } from '../../bench/growth/cells.ts'
import { contentsOf, DIMENSIONS, parseOptions } from '../../bench/growth/options.ts'
import { ratios, section } from '../../bench/growth/section.ts'
import { meets } from '../../bench/report.ts'

describe('the arguments of the growth benchmark', () => {
  it('measures every dimension with up to 1,000,000 tasks by default', () => {
    expect(parseOptions([])).toEqual({ max: 1_000_000, hold: 60, dimensions: DIMENSIONS, write: false })
  })

  it.each([
    [['--max', '1000'], /--max must be from 10000 to 10000000/],
    [['--max', 'many'], /--max must be a positive integer, not "many"/],
    [['--only', 'colour'], /unknown dimension "colour". Dimensions: tasks, tenants/],
    [['--write', '--only', 'tasks'], /--write needs all dimensions/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})

describe('the databases of a dimension', () => {
  const labels = (dimension: Parameters<typeof contentsOf>[0], max: number) =>
    contentsOf(dimension, max).map(({ label }) => label)

  it('grow up to the largest number of tasks', () => {
    expect(labels('tasks', 100_000)).toEqual([
      '1,000 stored tasks',
      '10,000 stored tasks',
      '100,000 stored tasks',
    ])
    expect(labels('tenants', 1_000_000)).toEqual(['1 tenant', '10 tenants', '100 tenants', '1,000 tenants'])
    expect(labels('types', 1_000_000)).toEqual(['10 types', '1,000 types', '20,000 types'])
    expect(labels('obligations', 10_000_000)).toEqual([
      '1,000 open obligations',
      '1,000,000 open obligations',
    ])
  })

  it('have no more tenants or types than a small number of tasks can fill', () => {
    expect(labels('tenants', 10_000)).toEqual(['1 tenant', '10 tenants', '100 tenants'])
    expect(labels('types', 10_000)).toEqual(['10 types', '1,000 types'])
  })
})

describe('the results of the growth benchmark', () => {
  const cell = (index: number, claim: number, rates: readonly number[]): Cell => ({
    contents: contentsOf('tasks', 10_000)[index] ?? { label: '', tenants: 1, types: 1, finished: 0, open: 0 },
    p50: new Map<ReadName, number>([['claim', claim]]),
    lifecycles: rates,
  })
  const series = {
    dimension: 'tasks',
    store: 'sqlite' as const,
    cells: [cell(0, 1, [10, 20, 30]), cell(1, 1.6, [5, 10, 10])],
  }

  it('are ratios to the smallest database, with a limit for latencies', () => {
    const rows = ratios(series)
    expect(rows.map(({ name, value }) => [name, value])).toEqual([
      ['sqlite: claim, 10,000 stored tasks', 1.6],
      ['sqlite: lifecycles, 10,000 stored tasks', 0.5],
    ])
    expect(rows.map(meets)).toEqual([false, true])
    expect(ratios({ ...series, dimension: 'tenants' }).map(meets)).toEqual([true, true])
  })

  it('are written as one table for each dimension and one for the rest', () => {
    const size = {
      name: 'sqlite: database size per finished task',
      value: 3000,
      unit: 'bytes',
      note: '100 tasks',
    }
    expect(section([series], [size], 'Node')).toBe(
      [
        'Node',
        '',
        '| Store | Database | Claim | Lifecycles |',
        '| --- | --- | --- | --- |',
        '| SQLite | 1,000 stored tasks | 1.00 ms | 20.0/s |',
        '| SQLite | 10,000 stored tasks | 1.60 | 0.50 |',
        '',
        '| Measurement | Result |  |',
        '| --- | --- | --- |',
        '| sqlite: database size per finished task | 3,000 bytes | 100 tasks |',
      ].join('\n'),
    )
  })
})
