import { markdownTable } from '../document.ts'
import { meets, type Row, round } from '../report.ts'
import { median, quantile } from '../stats.ts'
import { type Measurement, perRound, type Results } from './results.ts'
import type { System } from './systems.ts'

export interface Run {
  readonly systems: readonly System[]
  readonly results: Results
  readonly comparisons: readonly Row[]
  /** Versions and settings of the machine and the databases. */
  readonly environment: readonly string[]
}

/** The text of docs/performance.md between the markers. */
export function section({ systems, results, comparisons, environment }: Run): string {
  const measured = systems.filter(({ id }) => results.has(id))
  const rows = measured.map(({ id, label, durability }) => cells(label, durability, results.get(id) ?? []))
  return [
    '![Tasks per second of each system, one task per call and in bulk](images/peers.svg)',
    markdownTable(
      ['System', 'Live, tasks/s', 'Bulk, tasks/s', 'Pick-up p50 / p99, ms', 'Memory, MB', 'Durability'],
      rows,
    ),
    markdownTable(
      ['Ratio of the medians', 'Result', 'Target'],
      comparisons.map((row) => [row.name, result(row), target(row)]),
    ),
    environment.map((line) => `- ${line}`).join('\n'),
    'Settings other than the defaults:',
    settingsOf(measured).join('\n'),
  ].join('\n\n')
}

/** One line for all systems with the same settings. */
function settingsOf(systems: readonly System[]): string[] {
  const labels = new Map<string, string[]>()
  for (const { settings, label } of systems) labels.set(settings, [...(labels.get(settings) ?? []), label])
  return [...labels].map(([settings, same]) => `- ${same.join('; ')}: ${settings}.`)
}

function cells(label: string, durability: string, measurements: readonly Measurement[]): string[] {
  const pickUps = measurements.flatMap((measurement) => measurement.pickUps)
  const memory = measurements.map((measurement) => measurement.memory)
  return [
    label,
    withRange(perRound(measurements, 'live')),
    withRange(perRound(measurements, 'bulk')),
    `${round(median(pickUps))} / ${round(quantile(pickUps, 0.99))}`,
    round(median(memory)),
    durability,
  ]
}

function withRange(values: readonly number[]): string {
  if (values.length === 0) return ''
  return `${round(median(values))} (${round(Math.min(...values))} to ${round(Math.max(...values))})`
}

function result(row: Row): string {
  return `${round(row.value)}${meets(row) ? '' : ', missed'}`
}

function target({ target }: Row): string {
  if (target === undefined) return ''
  return 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
}
