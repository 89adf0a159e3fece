import type { HistoryView } from '../../features/history/get-history.ts'
import { type Html, html } from '../../util/html.ts'
import { chart } from '../chart.ts'
import { count, exact, table, tableRow } from '../components.ts'

type Row = HistoryView['rows'][number]
type Latency = 'wait' | 'run'

/** Throughput, failures and latency over time, with a table of the same numbers. */
export function charts(history: HistoryView): Html {
  const { rows, row_seconds, totals } = history
  const common = { times: rows.map(({ from }) => Date.parse(from)), rowSeconds: row_seconds }
  const per = `tasks per ${intervalWords(row_seconds)}`
  const values = (of: (row: Row) => number | null) => rows.map(of)
  const latency = (name: Latency, title: string, about: string) => {
    const median = values((row) => row[`${name}_p50`])
    const high = values((row) => row[`${name}_p95`])
    const { unit, size } = unitOf(Math.max(0, ...high.map((value) => value ?? 0)))
    const scaled = (list: readonly (number | null)[]) => list.map((value) => value && value / size)
    return chart({
      ...common,
      ...{ id: name, title, unit },
      description: `${about}: median ${secondsWords(totals[`${name}_p50`])}, 95th percentile ${secondsWords(totals[`${name}_p95`])}.`,
      series: [
        { label: '95th percentile', color: 'warn', kind: 'line', values: scaled(high) },
        { label: 'median', color: 'accent', kind: 'line', values: scaled(median) },
      ],
      isWhole: false,
      format: decimal,
    })
  }
  return html`<div class="charts">
${chart({
  ...common,
  ...{ id: 'throughput', title: 'Throughput', unit: per },
  description: `${count(totals.created)} tasks were created and ${count(totals.succeeded)} succeeded.`,
  series: [
    {
      label: `${count(totals.succeeded)} succeeded`,
      color: 'good',
      kind: 'bar',
      values: values((row) => row.succeeded),
    },
    {
      label: `${count(totals.created)} created`,
      color: 'accent',
      kind: 'line',
      values: values((row) => row.created),
    },
  ],
  isWhole: true,
  format: decimal,
})}
${chart({
  ...common,
  ...{ id: 'failures', title: 'Failures', unit: per },
  description: `${count(totals.failed)} tasks failed and ${count(totals.canceled)} were canceled.`,
  series: [
    {
      label: `${count(totals.failed)} failed`,
      color: 'bad',
      kind: 'bar',
      values: values((row) => row.failed),
    },
    {
      label: `${count(totals.canceled)} canceled`,
      color: 'soft',
      kind: 'line',
      values: values((row) => row.canceled),
    },
  ],
  isWhole: true,
  format: decimal,
})}
${latency('wait', 'Wait for a worker', 'Time from the creation to the first lease')}
${latency('run', 'Run time', 'Time from the start to the end')}
</div>
${numbers(rows)}`
}

const COLUMNS = [
  { label: 'From (UTC)', kind: 'tight' },
  { label: 'Created', kind: 'number' },
  { label: 'Succeeded', kind: 'number' },
  { label: 'Failed', kind: 'number' },
  { label: 'Canceled', kind: 'number' },
  { label: 'Wait, median', kind: 'number' },
  { label: 'Wait, 95th', kind: 'number' },
  { label: 'Run, median', kind: 'number' },
  { label: 'Run, 95th', kind: 'number' },
] as const

/** The numbers of the charts, newest first. */
function numbers(rows: readonly Row[]): Html {
  const active = rows
    .filter(({ created, succeeded, failed, canceled }) => created + succeeded + failed + canceled > 0)
    .toReversed()
  return html`<details class="numbers"><summary>Show the numbers as a table</summary><div data-live="numbers">${
    active.length === 0
      ? html`<p class="soft">No task was created or ended in this period.</p>`
      : table(
          'Numbers of the charts',
          COLUMNS,
          active.map((row) =>
            tableRow(row.from, COLUMNS, [
              exact(row.from).slice(0, 16),
              count(row.created),
              count(row.succeeded),
              count(row.failed),
              count(row.canceled),
              ...([row.wait_p50, row.wait_p95, row.run_p50, row.run_p95] as const).map(secondsWords),
            ]),
          ),
        )
  }</div></details>`
}

const UNITS = [
  { unit: 'hours', size: 3600 },
  { unit: 'minutes', size: 60 },
  { unit: 'seconds', size: 1 },
  { unit: 'milliseconds', size: 0.001 },
] as const

/** The unit in which the highest value is at least 2. */
function unitOf(highest: number): (typeof UNITS)[number] {
  return UNITS.find(({ size }) => highest >= 2 * size) ?? (highest === 0 ? UNITS[2] : UNITS[3])
}

function secondsWords(seconds: number | null): string {
  if (seconds === null) return '–'
  if (seconds < 1) return `${decimal(seconds * 1000)} ms`
  if (seconds < 120) return `${decimal(seconds)} s`
  return seconds < 7200 ? `${decimal(seconds / 60)} min` : `${decimal(seconds / 3600)} h`
}

function decimal(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
}

function intervalWords(seconds: number): string {
  if (seconds < 3600) return seconds === 60 ? 'minute' : `${seconds / 60} minutes`
  return seconds === 3600 ? 'hour' : `${seconds / 3600} hours`
}
