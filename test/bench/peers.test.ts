import { describe, expect, it } from 'vitest'
import { markdownTable, replaceSection } from '../../bench/document.ts'
import { chart } from '../../bench/peers/chart.ts'
import { parseOptions } from '../../bench/peers/options.ts'
import { comparisons, type Measurement, summary } from '../../bench/peers/results.ts'
import { section } from '../../bench/peers/section.ts'
import { SYSTEMS } from '../../bench/peers/systems.ts'
import { meets } from '../../bench/report.ts'

function measured(live: number, bulk?: number, pickUps = [1, 2, 30]): Measurement {
  return {
    live,
    pickUps,
    memory: 100,
    ...(bulk !== undefined && { bulk, enqueue: bulk * 2, process: bulk * 3 }),
  }
}

describe('the arguments of the peers benchmark', () => {
  it('selects all systems for three rounds by default', () => {
    expect(parseOptions([])).toEqual({ rounds: 3, tasks: 20_000, systems: SYSTEMS, write: false })
  })

  it('selects the systems whose name starts with a given one', () => {
    const { systems, tasks } = parseOptions([
      '--only',
      'bullmq',
      '--only',
      'asyncgate-rest',
      '--tasks',
      '500',
    ])
    expect(tasks).toBe(500)
    expect(systems.map(({ id }) => id)).toEqual([
      'bullmq-everysec',
      'bullmq-always',
      'asyncgate-rest-sqlite',
      'asyncgate-rest-postgres',
    ])
  })

  it.each([
    [['--only', 'sidekiq'], /unknown system "sidekiq". Systems: graphile-worker, pg-boss/],
    [['--tasks', '1.5'], /--tasks must be a positive integer, not "1.5"/],
    [['--rounds', '0'], /--rounds must be a positive integer, not "0"/],
    [['--write', '--only', 'bullmq'], /--write needs all systems/],
    [['--faster'], /Unknown option '--faster'/],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(message)
  })
})

describe('the results of the peers benchmark', () => {
  const results = new Map([
    ['graphile-worker', [measured(1000, 10_000), measured(900, 9000), measured(2000, 11_000)]],
    ['asyncgate-rest-postgres', [measured(2500, 4000), measured(1500, 5000), measured(1800, 6000)]],
  ])

  it('compares the medians of the systems that were measured', () => {
    const rows = comparisons(results)
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ value: 1.8, target: { atLeast: 2 }, note: '(0.90 to 2.50, 3 rounds)' })
    expect(rows.map(meets)).toEqual([false])
  })

  it('takes the latencies of all rounds together', () => {
    const rows = summary('x', [measured(1, undefined, [1, 1, 9]), measured(1, undefined, [2, 2, 2])])
    expect(rows.map(({ name }) => name)).toEqual(['x: live', 'x: pick-up p50', 'x: memory'])
    expect(rows[1]).toMatchObject({ value: 2, note: 'p99 9.00 ms, 6 samples' })
  })

  it('are written with their range, target and settings, for measured systems only', () => {
    const text = section({
      systems: SYSTEMS,
      results,
      comparisons: comparisons(results),
      environment: ['Node'],
    })
    expect(text).toContain(
      '| graphile-worker 0.17.3, PostgreSQL | 1,000 (900 to 2,000) | 10,000 (9,000 to 11,000) | 2.00 / 30.0 | 100 |',
    )
    expect(text).toContain('| live, REST on PostgreSQL against graphile-worker | 1.80, missed | at least 2 |')
    expect(text).toContain('- graphile-worker 0.17.3, PostgreSQL: concurrentJobs 24')
    expect(text).not.toContain('BullMQ')
  })
})

describe('the chart', () => {
  const svg = chart([
    { label: 'A & B', isOurs: true, live: 500, bulk: 4000 },
    { label: 'C', isOurs: false, live: 1000, bulk: undefined },
  ])

  it('scales each panel to its largest value', () => {
    const widths = [...svg.matchAll(/<rect .*width="(\d+)".*class="(\w+)"/g)].map(([, width, side]) => [
      side,
      width,
    ])
    expect(widths).toEqual([
      ['ours', '125'],
      ['peer', '250'],
      ['ours', '250'],
    ])
  })

  it('escapes labels and follows the colour scheme', () => {
    expect(svg).toContain('A &amp; B')
    expect(svg).toContain('prefers-color-scheme: dark')
  })
})

describe('a section of a document', () => {
  const page = 'before\n<!-- bench x: begin -->\nprevious\n<!-- bench x: end -->\nafter\n'

  it('is replaced between its markers', () => {
    const once = replaceSection(page, 'x', 'new\n')
    expect(once).toBe('before\n<!-- bench x: begin -->\nnew\n<!-- bench x: end -->\nafter\n')
    expect(replaceSection(once, 'x', 'new\n')).toBe(once)
  })

  it('must exist', () => {
    expect(() => replaceSection(page, 'y', 'new')).toThrow(/no section between "<!-- bench y: begin -->"/)
  })

  it('can contain a table', () => {
    expect(markdownTable(['a', 'b'], [['1', 'x|y']])).toBe('| a | b |\n| --- | --- |\n| 1 | x\\|y |')
  })
})
