import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { isoTime } from '../../core/time.ts'
import { HOUR_MS, hourOf } from '../../store/usage.ts'
import { defineOperation } from '../define-operation.ts'
import { time } from '../input.ts'
import { checkOperator, tenantField } from '../operator-tenant.ts'
import { summaryView } from '../summary.ts'
import { GRANULARITIES, type Granularity, hourFrom, summarize, type Usage } from './summarize.ts'

const instant = z.iso.datetime({ offset: true })

/** Longest ranges, so that a response has at most 744 rows. */
const MAX_DAYS: Readonly<Record<Granularity, number>> = { hour: 31, day: 366 }
const DAY_MS = 24 * HOUR_MS

const counts = {
  tasks: z.int().describe('Created tasks'),
  lease_hours: z.number().describe('How long workers held the leases that ended, in hours'),
  receipt_byte_hours: z.number().describe('Stored bytes of receipts times hours'),
  calls: z.int().describe('Calls of operations'),
}

const rowShape = z.object({ from: time.describe('Start of the hour or day, in UTC'), ...counts })

const usageShape = z.object({
  from: time.describe('Start of the period: an hour, in UTC'),
  to: time.describe('End of the period: an hour, in UTC'),
  granularity: z.enum(GRANULARITIES).describe('Length of a row'),
  totals: z.object(counts).describe('Sums of the period'),
  receipt_bytes: z.int().describe('Stored bytes of receipts at the end of the period'),
  rows: z.array(rowShape).readonly().describe('Hours or days with usage, oldest first'),
})

/** Rows that a model is shown: the newest ones. */
const SUMMARY_ROWS = 20

const summary = summaryView({
  shape: usageShape.extend({
    omitted_rows: z.int().optional().describe('Older rows that are left out: ask for a shorter period'),
  }),
  of: (usage: z.output<typeof usageShape>) => ({
    ...usage,
    rows: usage.rows.slice(-SUMMARY_ROWS),
    ...(usage.rows.length > SUMMARY_ROWS && { omitted_rows: usage.rows.length - SUMMARY_ROWS }),
  }),
})

export const getUsage = defineOperation({
  name: 'get_usage',
  title: 'Get the usage of your tenant',
  description:
    'For admins: how many tasks your tenant created, how long its tasks were leased, how many receipt bytes it stored for how long, and how many calls it made; in total, and per hour or day. Other servers add their counts every few minutes.',
  input: z.strictObject({
    from: instant
      .optional()
      .describe('Start, rounded down to the hour. Default: the start of the current month in UTC'),
    to: instant
      .optional()
      .describe('End, rounded up to the hour; at most the end of the current hour, which is the default'),
    granularity: z
      .enum(GRANULARITIES)
      .default('day')
      .describe('Length of a row. A period has at most 31 days of hours, or 366 days'),
    tenant: tenantField,
  }),
  output: usageShape,
  access: 'audit',
  toolsets: ['operator'],
  summary,
  rest: { method: 'GET', path: '/v1/usage' },
  async run({ engine, usage }, caller, { granularity, tenant: named = caller.tenant, ...given }) {
    if (named !== caller.tenant) checkOperator(caller, 'read the usage of another tenant')
    const now = Date.now()
    const from = hourOf(given.from === undefined ? startOfMonth(now) : Date.parse(given.from))
    const currentEnd = hourFrom(now + 1)
    const to = Math.min(currentEnd, given.to === undefined ? currentEnd : hourFrom(Date.parse(given.to)))
    if (from < 0) throw invalid('from', 'is before 1970')
    if (from >= to) throw invalid('from', 'is not before to, or in the future')
    if (to - from > MAX_DAYS[granularity] * DAY_MS) {
      throw invalid('from', `is more than ${MAX_DAYS[granularity]} days before to; ask for less`)
    }
    const { tenant } = await engine.tenant(named)
    await usage.refresh()
    const [hours, stored] = await engine.reading(() =>
      Promise.all([
        engine.store.usage.hours(tenant, from, to),
        engine.store.usage.receiptBytesBefore(tenant, from),
      ]),
    )
    const { totals, rows, receipt_bytes } = summarize(hours, stored, { from, to, now, granularity })
    return {
      from: isoTime(from),
      to: isoTime(to),
      granularity,
      totals: inHours(totals),
      receipt_bytes,
      rows: rows.map((row) => ({ from: isoTime(row.from), ...inHours(row) })),
    }
  },
})

function inHours({ tasks, lease_ms, receipt_byte_ms, calls }: Usage) {
  return {
    tasks,
    lease_hours: rounded(lease_ms / HOUR_MS),
    receipt_byte_hours: rounded(receipt_byte_ms / HOUR_MS),
    calls,
  }
}

/** To six decimals: less than four milliseconds of a lease. */
function rounded(hours: number): number {
  return Math.round(hours * 1e6) / 1e6
}

function startOfMonth(now: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}
