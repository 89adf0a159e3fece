import { z } from 'zod'
import { checkSelf, forbidden, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { NAMED_RECEIPT_TYPES, type Receipt } from '../../core/receipt.ts'
import { boundedScan, type ScanPage, type ScanQuery, scanPage } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'
import { readReceipts } from '../../engine/portions.ts'
import type { ReceiptLine, ReceiptPath, TaskLine } from '../../store/reads.ts'
import { defineOperation } from '../define-operation.ts'
import { askedPrincipal, pageLimit, principalFields, taskId, text } from '../input.ts'
import type { Archive } from '../retention/archive.ts'
import { relationshipShape, relationshipView, serverShape, serverView } from '../server/server.ts'
import { findWithArchived } from './find-with-archived.ts'
import { receiptShape, sinceReceiptId, sinceSeq, withDeliveries } from './get-receipt.ts'
import { obligationsSummary, receiptListSummary } from './summary.ts'

export const listOpenObligations = defineOperation({
  name: 'list_open_obligations',
  title: 'List open obligations',
  description:
    'The receipts that record an obligation towards you which no receipt has closed yet, oldest first. Call it at the start of a session to see which of your tasks are in progress. It changes nothing.',
  input: z.strictObject({ ...principalFields, since_receipt_id: sinceReceiptId, limit: pageLimit }),
  output: z.strictObject({
    server: serverShape.describe('The server that answered'),
    relationship: relationshipShape.describe('What the server knows about the principal'),
    open_obligations: z.array(receiptShape).readonly().describe('The receipts that are still open'),
    cursor: z
      .string()
      .nullable()
      .describe('Send it as since_receipt_id to get the next page; null on the last page'),
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  modelFields: ['since_receipt_id', 'limit'],
  summary: obligationsSummary,
  rest: { method: 'GET', path: '/v1/obligations/open' },
  example: { principal_id: 'planner' },
  async run({ engine, environment }, caller, { since_receipt_id, limit, ...asked }) {
    const tenant = await engine.tenant(caller.tenant)
    const principal = askedPrincipal(caller, asked)
    const after = sinceSeq(engine, tenant, since_receipt_id)
    const { reads } = engine.store
    const [open, relationship] = await engine.reading(() =>
      Promise.all([
        reads.obligationLines(tenant.tenant, principal, after, limit + 1),
        reads.relationship(tenant.tenant, principal),
      ]),
    )
    const { rows } = await readReceipts(engine, tenant.tenant, open.slice(0, limit))
    const last = rows.at(-1)
    return {
      server: serverView(engine, environment),
      relationship: relationshipView(principal, relationship),
      open_obligations: await withDeliveries(engine, tenant, rows),
      cursor: open.length > rows.length && last !== undefined ? engine.receiptId(tenant, last.seq) : null,
    }
  },
})

export interface ReceiptQuery extends ScanQuery<ReceiptLine> {
  readonly path: ReceiptPath
  readonly order: 'ascending' | 'descending'
}

/**
 * The first receipts that fit, also those of the archive if it is given. The scan reads narrow rows; only the bodies of
 * the receipts it found are loaded.
 */
export async function findReceipts(
  engine: Engine,
  tenant: number,
  { path, order, ...query }: ReceiptQuery,
  archive?: Archive,
): Promise<ScanPage<Receipt>> {
  if (archive !== undefined) return findWithArchived(engine, archive, tenant, { path, order, ...query })
  const { reads } = engine.store
  const { rows: lines, next } = await boundedScan(query, async (position, size) =>
    scanPage(await engine.reading(() => reads.receiptLines(tenant, path, position, order, size)), size),
  )
  const { rows, covered } = await readReceipts(engine, tenant, lines)
  return { rows, next: covered < lines.length ? (lines[covered - 1]?.seq ?? next) : next }
}

/** An obligation costs two reads, so fewer are scanned than elsewhere. */
const OBLIGATION_LIMITS = { scanned: 2000, page: 200 }

/**
 * The oldest tasks that are owed to a principal. The seq of a task is that of its assignment. An open schedule is an
 * obligation too, but the task that asked for it has ended, so only assignments count.
 */
export function findOwedTasks(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey,
  query: ScanQuery<TaskLine>,
): Promise<ScanPage<TaskLine>> {
  const { reads } = engine.store
  return boundedScan(
    query,
    async (position, size) => {
      const owed = await engine.reading(() => reads.obligationLines(tenant, principal, position, size))
      const ids = owed.flatMap(({ receipt_type, task_id }) =>
        receipt_type === 'task.assigned' && task_id !== null ? [task_id] : [],
      )
      const rows = await engine.reading(() => reads.lines(tenant, ids))
      return { ...scanPage(owed, size), rows: rows.sort((a, b) => a.seq - b.seq) }
    },
    OBLIGATION_LIMITS,
  )
}

/** The next page of a list of receipts starts after a receipt. */
export const nextReceiptCursor = z
  .string()
  .nullable()
  .describe('Send it as since_receipt_id to get the next page; null on the last page')

export const includeArchived = z
  .boolean()
  .default(false)
  .describe('Also return receipts that were moved to the archive. It takes longer')

export const receiptType = z.enum(NAMED_RECEIPT_TYPES).optional().describe('Only receipts of this type')

const input = z.strictObject({
  to_kind: z
    .enum(PRINCIPAL_KINDS)
    .optional()
    .describe('Kind of the addressee that to_id names; agent if absent'),
  to_id: text(255)
    .optional()
    .describe(
      'Only receipts addressed to this principal; the caller if absent. Only admins may name another one',
    ),
  all: z
    .boolean()
    .default(false)
    .describe('For admins: the receipts of all addressees, unless to_id names one'),
  since_receipt_id: sinceReceiptId,
  task_id: taskId.optional().describe('Only receipts of this task'),
  receipt_type: receiptType,
  receipt_types: z
    .array(z.enum(NAMED_RECEIPT_TYPES))
    .min(1)
    .max(NAMED_RECEIPT_TYPES.length)
    .optional()
    .describe('Only receipts of one of these types, instead of receipt_type'),
  order: z
    .enum(['oldest', 'newest'])
    .default('oldest')
    .describe('Which receipts come first. With newest, since_receipt_id leads to older receipts'),
  include_archived: includeArchived,
  limit: pageLimit,
})

export const listReceipts = defineOperation({
  name: 'list_receipts',
  title: 'List receipts',
  description:
    'Receipts addressed to you, oldest first, filtered by task or type. A page may be short: continue with next_cursor as since_receipt_id until it is null. ' +
    'Admins may name another addressee, and see the receipts of all addressees with all, or if they filter by task or type.',
  input,
  output: z.object({
    receipts: z.array(receiptShape).readonly().describe('The receipts of this page'),
    next_cursor: nextReceiptCursor,
  }),
  access: 'receipts',
  toolsets: ['ledger'],
  summary: receiptListSummary,
  rest: { method: 'GET', path: '/v1/receipts' },
  example: { principal_id: 'planner', task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c' },
  async run({ engine, retention }, caller, asked) {
    const { since_receipt_id, limit } = asked
    if (asked.receipt_type !== undefined && asked.receipt_types !== undefined) {
      throw invalid('receipt_types', 'cannot be combined with receipt_type')
    }
    const types = asked.receipt_types ?? (asked.receipt_type && [asked.receipt_type])
    const archive = asked.include_archived ? retention.archive : undefined
    const isNewest = asked.order === 'newest'
    const tenant = await engine.tenant(caller.tenant)
    const to = addresseeOf(caller, asked)
    const query: ReceiptQuery = {
      path: receiptPath(asked.task_id, to),
      from:
        isNewest && since_receipt_id === undefined
          ? Number.MAX_SAFE_INTEGER
          : sinceSeq(engine, tenant, since_receipt_id),
      order: isNewest ? 'descending' : 'ascending',
      limit,
      fits: (receipt) =>
        (to === undefined || receipt.to === to) &&
        (types === undefined || types.includes(receipt.receipt_type)),
    }
    const { rows, next } = await findReceipts(engine, tenant.tenant, query, archive)
    return {
      receipts: await withDeliveries(engine, tenant, rows, undefined, archive),
      next_cursor: next === null ? null : engine.receiptId(tenant, next),
    }
  },
})

/** The narrowest index for receipts of a task or to an addressee; undefined stands for all of them. */
export function receiptPath(task_id: string | undefined, to: PrincipalKey | undefined): ReceiptPath {
  if (task_id !== undefined) return { by: 'task', task_id }
  return to === undefined ? { by: 'all' } : { by: 'to', to }
}

/** The addressee whose receipts are listed; undefined lists those of all addressees, which requires an admin. */
function addresseeOf(caller: Caller, asked: z.output<typeof input>): PrincipalKey | undefined {
  if (asked.to_id === undefined) {
    if (asked.to_kind !== undefined) throw invalid('to_id', 'is required with to_kind')
    if (asked.all && !seesAll(caller.role)) throw forbidden('admin', caller.role)
    const isWide =
      asked.all || [asked.task_id, asked.receipt_type, asked.receipt_types].some((by) => by !== undefined)
    return seesAll(caller.role) && isWide ? undefined : principalKey(caller.principal)
  }
  const to: PrincipalKey = `${asked.to_kind ?? 'agent'}:${asked.to_id}`
  checkSelf(caller, to)
  return to
}
