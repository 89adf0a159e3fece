import type { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { getUsage } from '../../features/usage/get-usage.ts'
import { type Html, html } from '../../util/html.ts'
import { count, empty, exact, facts, faultBox, heading, statusOf, table, tableRow } from '../components.ts'
import { textIn } from '../fields.ts'
import { page, type Reply, type Visit } from '../visit.ts'

type Answer = z.output<typeof getUsage.output>
type Filter = Readonly<Record<'from' | 'to' | 'granularity', string | undefined>>

const PAGE = '/console/usage'

export const usageRoutes = [page('/usage', showUsage)]

async function showUsage({ call, query }: Visit): Promise<Reply> {
  const filter: Filter = {
    from: textIn(query, 'from'),
    to: textIn(query, 'to'),
    granularity: textIn(query, 'granularity'),
  }
  const found = await call(getUsage, {
    ...filter,
    from: startOfDay(filter.from),
    to: startOfDay(filter.to),
  }).catch((error: unknown) => {
    // A filter that was mistyped is shown again.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return error
    throw error
  })
  const fault = found instanceof Fault ? found : undefined
  return {
    title: 'Usage',
    section: 'usage',
    status: statusOf(fault),
    body: html`${heading('Usage')}
${faultBox(fault)}
${filterForm(filter)}
${!(found instanceof Fault) && content(found)}`,
  }
}

/** Browsers send `2026-01-31`. Days of usage are days in UTC. */
function startOfDay(day: string | undefined): string | undefined {
  return day !== undefined && /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00:00Z` : day
}

function filterForm(filter: Filter): Html {
  const day = (name: 'from' | 'to', label: string) =>
    html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="date" value="${filter[name] ?? ''}"></div>`
  const option = (value: string) =>
    html`<option value="${value}"${(filter.granularity ?? 'day') === value && html` selected`}>${value}</option>`
  return html`<form class="filter" method="get" action="${PAGE}" role="search" aria-label="Choose a period">
${day('from', 'From (UTC)')}${day('to', 'Before (UTC)')}
<div><label for="f-granularity">Per</label><select id="f-granularity" name="granularity">${['day', 'hour'].map(option)}</select></div>
<div class="filter-buttons"><button class="button">Show</button></div>
</form>`
}

function content({ from, to, totals, receipt_bytes, rows }: Answer): Html {
  return html`<p class="soft">${exact(from)} to ${exact(to)}</p>
${facts([
  { name: 'Tasks', value: count(totals.tasks) },
  { name: 'Lease hours', value: decimal(totals.lease_hours) },
  { name: 'Receipt byte hours', value: decimal(totals.receipt_byte_hours) },
  { name: 'Calls', value: count(totals.calls) },
  { name: 'Receipt bytes', value: count(receipt_bytes) },
])}
${rows.length === 0 ? empty('Nothing was used in this period.', 'Tasks, leases, receipts and calls appear here.') : usageTable(rows)}`
}

const COLUMNS = [
  { label: 'From', kind: 'tight' },
  { label: 'Tasks', kind: 'number' },
  { label: 'Lease hours', kind: 'number' },
  { label: 'Receipt byte hours', kind: 'number' },
  { label: 'Calls', kind: 'number' },
] as const

function usageTable(rows: Answer['rows']): Html {
  const row = (period: Answer['rows'][number]) =>
    tableRow(period.from, COLUMNS, [
      exact(period.from),
      count(period.tasks),
      decimal(period.lease_hours),
      decimal(period.receipt_byte_hours),
      count(period.calls),
    ])
  return table('Usage per period', COLUMNS, rows.map(row))
}

function decimal(hours: number): string {
  return hours.toLocaleString('en-US', { maximumFractionDigits: 3 })
}
