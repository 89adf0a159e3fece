import { z } from 'zod'
import { isoTime } from '../../core/time.ts'
import { type HistoryPeriod, STEPS, type Step } from '../../store/history.ts'
import { defineOperation } from '../define-operation.ts'
import { time } from '../input.ts'
import { checkOperator, tenantField } from '../operator-tenant.ts'
import { summaryView } from '../summary.ts'
import { quantile } from './quantile.ts'
import { sums } from './task-counter.ts'

export const HISTORY_PERIODS = ['hour', 'day', 'month'] as const
type Period = (typeof HISTORY_PERIODS)[number]

interface Layout {
  /** The stored periods that rows are made of. */
  readonly step: Step
  /** Length of a row in milliseconds. */
  readonly row: number
  readonly rows: number
}

const LAYOUTS: Readonly<Record<Period, Layout>> = {
  hour: { step: 'minute', row: STEPS.minute, rows: 60 },
  day: { step: 'minute', row: 15 * STEPS.minute, rows: 96 },
  month: { step: 'hour', row: 6 * STEPS.hour, rows: 120 },
}

const count = (description: string) => z.int().describe(description)
const seconds = (description: string) =>
  z.number().nullable().describe(`${description}, in seconds, estimated from ranges; null without tasks`)

const counts = {
  created: count('Tasks that were created'),
  succeeded: count('Tasks that succeeded'),
  failed: count('Tasks that failed'),
  canceled: count('Tasks that were canceled'),
  wait_p50: seconds('Median time from the creation to the first lease of a task'),
  wait_p95: seconds('95th percentile of this time'),
  run_p50: seconds('Median time from the start to the end of a task'),
  run_p95: seconds('95th percentile of this time'),
}

const rowShape = z.object({ from: time.describe('Start of the row'), ...counts })

const historyShape = z.object({
  period: z.enum(HISTORY_PERIODS).describe('The requested period'),
  from: time.describe('Start of the first row'),
  to: time.describe('End of the last row, which may be in the future'),
  row_seconds: count('Length of a row in seconds'),
  totals: z.object(counts).describe('The whole period'),
  rows: z.array(rowShape).readonly().describe('All rows of the period, oldest first, also empty ones'),
})

export type HistoryView = z.output<typeof historyShape>

/** Rows that a model is shown: the newest ones with tasks. */
const SUMMARY_ROWS = 20

const summary = summaryView({
  shape: historyShape.extend({ omitted_rows: count('Older or empty rows that are left out').optional() }),
  of: (history: HistoryView) => {
    const rows = history.rows
      .filter((row) => row.created + row.succeeded + row.failed + row.canceled > 0)
      .slice(-SUMMARY_ROWS)
    const omitted_rows = history.rows.length - rows.length
    return { ...history, rows, ...(omitted_rows > 0 && { omitted_rows }) }
  },
})

export const getHistory = defineOperation({
  name: 'get_history',
  title: 'Get the history of tasks',
  description:
    'For operators: how many tasks of your tenant were created, succeeded, failed and were canceled, how long they waited for a worker and how long they ran: per minute of the last hour, per 15 minutes of the last day, or per 6 hours of the last 30 days. Other servers add their counts every few seconds.',
  input: z.strictObject({
    period: z.enum(HISTORY_PERIODS).default('hour').describe('How far back to look from now'),
    tenant: tenantField,
  }),
  output: historyShape,
  access: 'inspect',
  toolsets: ['operator'],
  summary,
  rest: { method: 'GET', path: '/v1/history' },
  async run({ engine, history }, caller, { period, tenant: named = caller.tenant }) {
    if (named !== caller.tenant) checkOperator(caller, 'read the history of another tenant')
    const { step, row, rows } = LAYOUTS[period]
    const { tenant } = await engine.tenant(named)
    await history.refresh()
    const stored = await engine.reading(async () => {
      const now = await engine.store.now()
      const to = now - (now % row) + row
      const from = to - rows * row
      return { from, to, periods: await engine.store.history.read(tenant, step, from, to) }
    })
    const { from, to, periods } = stored
    const known = new Map(sums(periods, row, step).map((sum) => [sum.at, sum]))
    const [total] = sums(
      periods.map((each) => ({ ...each, at: 0 })),
      row,
      step,
    )
    return {
      period,
      from: isoTime(from),
      to: isoTime(to),
      row_seconds: row / 1000,
      totals: countsOf(total),
      rows: Array.from({ length: rows }, (_, i) => {
        const at = from + i * row
        return { from: isoTime(at), ...countsOf(known.get(at)) }
      }),
    }
  },
})

function countsOf(period: HistoryPeriod | undefined): Omit<z.output<typeof rowShape>, 'from'> {
  const { created = 0, succeeded = 0, failed = 0, canceled = 0, waits = [], runs = [] } = period ?? {}
  return {
    ...{ created, succeeded, failed, canceled },
    wait_p50: inSeconds(quantile(waits, 0.5)),
    wait_p95: inSeconds(quantile(waits, 0.95)),
    run_p50: inSeconds(quantile(runs, 0.5)),
    run_p95: inSeconds(quantile(runs, 0.95)),
  }
}

/** Two digits: more would suggest an accuracy that ranges do not have. */
function inSeconds(ms: number | null): number | null {
  return ms === null ? null : Number((ms / 1000).toPrecision(2))
}
