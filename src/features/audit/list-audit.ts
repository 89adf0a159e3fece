import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { isoTime } from '../../core/time.ts'
import { boundedScan, scanPage } from '../../engine/bounded-scan.ts'
import { AUDIT_OUTCOMES, AUDIT_SEVERITIES, type AuditRow } from '../../store/audit.ts'
import { defineOperation } from '../define-operation.ts'
import { nextCursor, pageLimit, text, time } from '../input.ts'
import { line, summaryView } from '../summary.ts'
import { auditIdAt } from './audit-log.ts'
import { AUDIT_EVENTS, type AuditEventName } from './port.ts'

const EVENT_NAMES = Object.keys(AUDIT_EVENTS) as [AuditEventName, ...AuditEventName[]]

const instant = z.iso.datetime({ offset: true })

const eventShape = z.object({
  id: z.string().describe('Id of the event; ids sort by time'),
  at: time.describe('When it happened'),
  event: z.string().describe('What happened; see docs/audit.md'),
  severity: z.enum(AUDIT_SEVERITIES).describe('info, warning or critical'),
  outcome: z.enum(AUDIT_OUTCOMES).describe('Whether the request succeeded'),
  principal: z.string().nullable().describe('The actor as kind:id; null if it is unknown'),
  subject: z.string().nullable().describe('What it is about, such as the id of a key'),
  reason: z.string().nullable().describe('Why a request was refused'),
  ip: z.string().nullable().describe('Address of the client, or of a proxy that is not trusted'),
  user_agent: z.string().nullable().describe('User-Agent of the request'),
  request_id: z.string().nullable().describe('X-Request-Id of the request'),
  key_id: z.string().nullable().describe('Id of the issued key of the request'),
  details: z.record(z.string(), z.unknown()).describe('More, without secrets'),
})

export type AuditEventView = z.output<typeof eventShape>

const rowShape = z.object({
  at: z.string().describe('When it happened'),
  event: z.string().describe('What happened'),
  principal: z.string().optional().describe('The actor as kind:id'),
  subject: z.string().optional().describe('What it is about'),
  reason: z.string().optional().describe('Why a request was refused'),
  ip: z.string().optional().describe('Address of the client'),
})

const summary = summaryView({
  shape: z.object({ events: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: ({ events, next_cursor }: { events: readonly AuditEventView[]; next_cursor: string | null }) => ({
    events: events.map(({ at, event, principal, subject, reason, ip }) => ({
      at,
      event,
      ...(principal !== null && { principal: line(principal, 60) }),
      ...(subject !== null && { subject: line(subject, 80) }),
      ...(reason !== null && { reason: line(reason, 60) }),
      ...(ip !== null && { ip }),
    })),
    next_cursor,
  }),
})

export const listAudit = defineOperation({
  name: 'list_audit',
  title: 'List the audit log',
  description:
    'For admins: security events of your tenant, newest first: refused requests, keys, admin actions, sign-ins. A page may be empty although next_cursor is not null: repeat until it is null.',
  input: z.strictObject({
    event: z.enum(EVENT_NAMES).optional().describe('Only events with this name'),
    principal: text(300).optional().describe('Only events of this actor, as kind:id'),
    severity: z.enum(AUDIT_SEVERITIES).optional().describe('Only events of this severity'),
    from: instant.optional().describe('Only events at or after this time'),
    to: instant.optional().describe('Only events before this time'),
    limit: pageLimit,
    cursor: text(64).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    events: z.array(eventShape).readonly().describe('The events of this page, newest first'),
    next_cursor: nextCursor,
  }),
  access: 'audit',
  toolsets: ['operator'],
  summary,
  rest: { method: 'GET', path: '/v1/audit' },
  async run({ engine, audit }, caller, { event, principal, severity, from, to, limit, cursor }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const until = auditIdAt(to === undefined ? MAX_TIME : Date.parse(to))
    if (cursor !== undefined && !/^[0-9a-f]{12,28}$/.test(cursor)) {
      throw invalid('cursor', 'is not a cursor of this listing')
    }
    const before = cursor !== undefined && cursor < until ? cursor : until
    const since = auditIdAt(from === undefined ? 0 : Date.parse(from))
    await audit.flush()
    const { rows, next } = await boundedScan<Positioned>(
      {
        from: before,
        limit,
        fits: (row) =>
          (event === undefined || row.event === event) &&
          (principal === undefined || row.principal === principal) &&
          (severity === undefined || row.severity === severity),
      },
      async (position, size) => {
        const page = await engine.reading(() => engine.store.audit.list(tenant, since, position, size))
        return scanPage(
          page.map((row) => ({ ...row, seq: row.id })),
          size,
        )
      },
    )
    return { events: rows.map(({ seq: _, ...row }) => auditView(row)), next_cursor: next }
  },
})

/** Later than any event. */
const MAX_TIME = Date.UTC(9999, 0)

type Positioned = AuditRow & { readonly seq: string }

export function auditView({ at, details, tenant: _, ...rest }: AuditRow): AuditEventView {
  const parsed: Record<string, unknown> = JSON.parse(details)
  return { ...rest, at: isoTime(at), details: parsed }
}
