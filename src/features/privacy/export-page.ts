import { invalid } from '../../core/errors.ts'
import { type PrincipalKey, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { type AuditEventView, auditView } from '../audit/list-audit.ts'
import type { Email, EmailContent, TenantMail } from '../email/email.ts'
import type { Identities } from '../identities/identities.ts'
import { type IdentityView, identityView } from '../identities/operations.ts'
import type { Keys } from '../keys/keys.ts'
import { type KeyView, keyViews } from '../keys/operations.ts'
import { findWithArchived } from '../receipts/find-with-archived.ts'
import { type ReceiptView, withDeliveries } from '../receipts/get-receipt.ts'
import type { Retention } from '../retention/retention.ts'
import type { Cancellations } from '../tasks/cancellations.ts'
import { type LogLineView, logView } from '../tasks/list-logs.ts'
import type { TaskView } from '../tasks/shape.ts'
import { progressView, viewsOf } from '../tasks/view.ts'

/** What is exported, in this order. */
export const SECTIONS = ['key', 'identity', 'task', 'receipt', 'audit_event'] as const
export type Section = (typeof SECTIONS)[number]

/** Tasks may have long logs and large emails. */
const TASKS_PER_PAGE = 10
/** More progress entries and log lines than a task can have. */
const ALL = 100_000
/** Above every id of an audit event. */
const NEWEST_EVENT = 'g'
const EVENTS_PER_READ = 500

export interface ExportDeps {
  readonly engine: Engine
  readonly keys: Keys
  readonly identities: Pick<Identities, 'of'>
  readonly mail: TenantMail | undefined
  readonly cancellations: Cancellations
  readonly retention: Pick<Retention, 'archive'>
}

export type ExportedRecord =
  | { readonly kind: 'key'; readonly key: KeyView }
  | { readonly kind: 'identity'; readonly identity: IdentityView }
  | {
      readonly kind: 'task'
      readonly task: TaskView
      readonly progress: readonly unknown[]
      readonly log: readonly LogLineView[]
      readonly emails: readonly (Email & { readonly content: EmailContent | null })[]
    }
  | { readonly kind: 'receipt'; readonly receipt: ReceiptView }
  | { readonly kind: 'audit_event'; readonly audit_event: AuditEventView }

interface Page {
  readonly records: readonly ExportedRecord[]
  /** Where the section continues; null if it is complete. */
  readonly next: string | number | null
}

type Read = (
  deps: ExportDeps,
  tenant: TenantRef,
  principal: PrincipalKey,
  position: string,
  limit: number,
) => Promise<Page>

const READS: Readonly<Record<Section, Read>> = {
  key: readKeys,
  identity: readIdentities,
  task: readTasks,
  receipt: readReceipts,
  audit_event: readAudit,
}

/** One page of everything that is stored about a principal. A page has records of one section, and may be empty. */
export async function exportPage(
  deps: ExportDeps,
  tenant: TenantRef,
  principal: PrincipalKey,
  cursor: string | undefined,
  limit: number,
): Promise<{ readonly records: readonly ExportedRecord[]; readonly next_cursor: string | null }> {
  const { section, position } = parseCursor(cursor)
  const { records, next } = await READS[section](deps, tenant, principal, position, limit)
  if (next !== null) return { records, next_cursor: `${section}:${next}` }
  const following = SECTIONS[SECTIONS.indexOf(section) + 1]
  return { records, next_cursor: following === undefined ? null : `${following}:` }
}

function parseCursor(cursor = `${SECTIONS[0]}:`): { section: Section; position: string } {
  const [, name, position = ''] = /^([a-z_]+):(\w*)$/.exec(cursor) ?? []
  const section = SECTIONS.find((each) => each === name)
  const isNumbered = section === 'task' || section === 'receipt'
  if (section === undefined || (isNumbered && !/^\d{0,15}$/.test(position))) {
    throw invalid('cursor', 'is not a cursor of this export')
  }
  return { section, position }
}

async function readKeys(
  { keys }: ExportDeps,
  { tenant }: TenantRef,
  principal: PrincipalKey,
  position: string,
  limit: number,
): Promise<Page> {
  const page = await keys.page(tenant, position, limit)
  const own = page.filter((key) => principalKey(key.principal) === principal)
  const views = await keyViews(keys, tenant, own)
  return {
    records: views.map((key) => ({ kind: 'key', key })),
    next: page.length < limit ? null : (page.at(-1)?.key_id ?? null),
  }
}

/** All of them: a person has few. */
async function readIdentities(
  { identities }: ExportDeps,
  { tenant }: TenantRef,
  principal: PrincipalKey,
): Promise<Page> {
  const { kind, id } = parsePrincipalKey(principal)
  const own = kind === 'human' ? await identities.of(tenant, id) : []
  const records = own.map((record) => ({ kind: 'identity', identity: identityView(record) }) as const)
  return { records, next: null }
}

async function readTasks(
  deps: ExportDeps,
  { tenant }: TenantRef,
  owner: PrincipalKey,
  position: string,
  limit: number,
): Promise<Page> {
  const { engine, cancellations } = deps
  const size = Math.min(limit, TASKS_PER_PAGE)
  const before = position === '' ? Number.MAX_SAFE_INTEGER : Number(position)
  const lines = await engine.reading(() =>
    engine.store.reads.scan(tenant, { by: 'owner', owner }, before, size),
  )
  const { rows, covered } = await readRecords(engine, tenant, lines)
  const views = await viewsOf(cancellations, tenant, rows)
  const records: ExportedRecord[] = []
  for (const [n, task] of views.entries()) {
    records.push({ kind: 'task', task, ...(await detailsOf(deps, rows[n])) })
  }
  const isLast = lines.length < size && covered === lines.length
  return { records, next: isLast ? null : (lines[covered - 1]?.seq ?? null) }
}

async function detailsOf({ engine, mail: accounts }: ExportDeps, record: TaskRecord | undefined) {
  if (record === undefined) return { progress: [], log: [], emails: [] }
  const { tenant, task_id } = record.task
  const mail = accounts?.of(tenant)
  const [progress, log, emails] = await engine.reading(() =>
    Promise.all([
      engine.store.reads.progress(tenant, task_id, 0, ALL),
      engine.store.logs.list(tenant, task_id, 0, ALL),
      mail?.ofTask(tenant, task_id) ?? [],
    ]),
  )
  const withContent = emails.map(async (email) => ({
    ...email,
    content: (await mail?.content(tenant, email)) ?? null,
  }))
  return {
    progress: progress.map(progressView),
    log: log.map(logView),
    emails: await Promise.all(withContent),
  }
}

/** Receipts from and to the principal, also archived ones. */
async function readReceipts(
  { engine, retention: { archive } }: ExportDeps,
  ref: TenantRef,
  principal: PrincipalKey,
  position: string,
  limit: number,
): Promise<Page> {
  const { rows, next } = await findWithArchived(engine, archive, ref.tenant, {
    path: { by: 'all' },
    order: 'ascending',
    from: Number(position),
    limit,
    fits: ({ from, to }) => from === principal || to === principal,
  })
  const views = await withDeliveries(engine, ref, rows, undefined, archive)
  return { records: views.map((receipt) => ({ kind: 'receipt', receipt })), next }
}

async function readAudit(
  { engine }: ExportDeps,
  { tenant }: TenantRef,
  principal: PrincipalKey,
  position: string,
): Promise<Page> {
  const before = position === '' ? NEWEST_EVENT : position
  const rows = await engine.reading(() => engine.store.audit.list(tenant, '', before, EVENTS_PER_READ))
  return {
    records: rows
      .filter((row) => row.principal === principal)
      .map((row) => ({ kind: 'audit_event', audit_event: auditView(row) })),
    next: rows.length < EVENTS_PER_READ ? null : (rows.at(-1)?.id ?? null),
  }
}
