import type { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { listAudit } from '../../features/audit/list-audit.ts'
import { AUDIT_EVENTS } from '../../features/audit/port.ts'
import { type Html, html } from '../../util/html.ts'
import {
  empty,
  exact,
  facts,
  faultBox,
  heading,
  jsonBlock,
  line,
  pager,
  statusOf,
  table,
  tableRow,
  time,
} from '../components.ts'
import { instantIn, link, textIn } from '../fields.ts'
import { page, type Reply, type Visit } from '../visit.ts'

type Answer = z.output<typeof listAudit.output>
type Event = Answer['events'][number]

const LIST = '/console/audit'
const PAGE = 50
const SEVERITIES = ['info', 'warning', 'critical']

type Filter = Readonly<Record<'event' | 'severity' | 'principal' | 'from' | 'to', string | undefined>>

export const auditRoutes = [page('/audit', showAudit)]

async function showAudit({ call, query, now }: Visit): Promise<Reply> {
  const filter = filterIn(query)
  const cursor = textIn(query, 'cursor')
  const found = await call(listAudit, {
    ...filter,
    from: instantIn(query, 'from'),
    to: instantIn(query, 'to'),
    cursor,
    limit: PAGE,
  }).catch((error: unknown) => {
    // A filter that was mistyped is shown again.
    if (error instanceof Fault && error.code === 'VALIDATION_ERROR') return error
    throw error
  })
  const fault = found instanceof Fault ? found : undefined
  const { events, next_cursor }: Answer = found instanceof Fault ? { events: [], next_cursor: null } : found
  return {
    title: 'Audit log',
    section: 'audit',
    status: statusOf(fault),
    body: html`${heading('Audit log')}
${faultBox(fault)}
${filterForm(filter)}
${events.length === 0 && fault === undefined ? none(filter, next_cursor) : eventTable(events, now)}
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, filter)}">Newest</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { ...filter, cursor: next_cursor })}">Older</a>`,
)}`,
  }
}

function filterIn(query: URLSearchParams): Filter {
  return {
    event: textIn(query, 'event'),
    severity: textIn(query, 'severity'),
    principal: textIn(query, 'principal'),
    from: textIn(query, 'from'),
    to: textIn(query, 'to'),
  }
}

function filterForm(filter: Filter): Html {
  const select = (name: 'event' | 'severity', label: string, values: readonly string[]) =>
    html`<div><label for="f-${name}">${label}</label><select id="f-${name}" name="${name}"><option value="">any</option>${values.map(
      (value) =>
        html`<option value="${value}"${filter[name] === value && html` selected`}>${value.replaceAll('_', ' ')}</option>`,
    )}</select></div>`
  const when = (name: 'from' | 'to', label: string) =>
    html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" type="datetime-local" value="${filter[name] ?? ''}"></div>`
  return html`<form class="filter" method="get" action="${LIST}" role="search" aria-label="Filter events">
${select('event', 'Event', Object.keys(AUDIT_EVENTS))}${select('severity', 'Severity', SEVERITIES)}
<div><label for="f-principal">Principal</label><input id="f-principal" name="principal" value="${filter.principal ?? ''}" placeholder="kind:id" autocomplete="off" spellcheck="false"></div>
${when('from', 'From (UTC)')}${when('to', 'Before (UTC)')}
<div class="filter-buttons"><button class="button">Filter</button>${isSet(filter) && html` <a class="link" href="${LIST}">Clear</a>`}</div>
</form>`
}

function isSet(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

function none(filter: Filter, next: string | null): Html {
  if (next !== null) return empty('No event among the last 10,000 matches.', 'Continue with Older.')
  if (isSet(filter)) return empty('No event matches.', html`<a href="${LIST}">Show all events</a>`)
  return empty('There are no events yet.', 'Refused requests, changes by admins and sign-ins appear here.')
}

const COLUMNS = [
  { label: 'When', kind: 'tight' },
  { label: 'Event', kind: 'tight' },
  { label: 'Severity', kind: 'tight', isExtra: true },
  { label: 'Principal' },
  { label: 'Subject' },
  { label: 'Reason', kind: 'wide', isExtra: true },
  { label: 'Address', kind: 'tight', isExtra: true },
  { label: 'More', kind: 'tight' },
] as const

function eventTable(events: readonly Event[], now: number): Html {
  const row = (event: Event) =>
    tableRow(event.id, COLUMNS, [
      html`${time(event.at, now)}<span class="row-sub">${exact(event.at)}</span>`,
      event.event.replaceAll('_', ' '),
      html`<span class="status audit-${event.severity}">${event.severity}</span>`,
      event.principal !== null && line(event.principal, 100),
      event.subject !== null && line(event.subject, 100),
      event.reason !== null && line(event.reason, 200),
      event.ip !== null && line(event.ip, 60),
      more(event),
    ])
  return table('Events', COLUMNS, events.map(row))
}

function more({ severity, reason, ip, user_agent, request_id, key_id, details }: Event): Html {
  const fact = (name: string, value: string | null) => value !== null && { name, value: line(value, 300) }
  return html`<details><summary>Details</summary>${facts([
    fact('Severity', severity),
    fact('Reason', reason),
    fact('Address', ip),
    fact('User agent', user_agent),
    fact('Request', request_id),
    fact('Key', key_id),
  ])}${Object.keys(details).length > 0 && jsonBlock(details, 'Details')}</details>`
}
