import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import type { Receipt, ReceiptType } from '../../core/receipt.ts'
import type { Engine } from '../../engine/engine.ts'
import { eachRecord, PAGE_BYTES } from '../../engine/portions.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import { defineOperation } from '../define-operation.ts'
import { pageLimit, taskId, text } from '../input.ts'
import { sinceReceiptId, sinceSeq } from './get-receipt.ts'
import { ledgerReceipt, ledgerStatus } from './ledger-receipt.ts'
import { LEDGER_STATUSES, type LedgerReceipt, ledgerReceiptShape } from './ledger-shape.ts'
import {
  findReceipts,
  includeArchived,
  nextReceiptCursor,
  type ReceiptQuery,
  receiptPath,
  receiptType,
} from './list-receipts.ts'
import { ledgerSummary } from './summary.ts'

/** The receipts that record a change of an obligation: taken on, ended or escalated. */
const LEDGER_TYPES: readonly ReceiptType[] = [
  'task.assigned',
  'task.accepted',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.escalated',
]

/** Receipts whose tasks are read together. */
const CHUNK = 25

export const listReceiptsLedger = defineOperation({
  name: 'list_receipts_ledger',
  title: 'List receipts in the format of the shared ledger',
  description:
    'Receipts about obligations that were taken on, ended or escalated, in the canonical format that the other systems of the ledger use, oldest first. ' +
    'Requires at least one of task_id, lease_id, status and receipt_type. Agents see the receipts that are addressed to them.',
  input: z.strictObject({
    task_id: taskId.optional().describe('Only receipts of this task'),
    lease_id: text(128).optional().describe('Only receipts of this lease'),
    status: z.enum(LEDGER_STATUSES).optional().describe('Only receipts with this status'),
    receipt_type: receiptType,
    include_archived: includeArchived,
    since_receipt_id: sinceReceiptId,
    limit: pageLimit,
  }),
  output: z.object({
    receipts: z.array(ledgerReceiptShape).readonly().describe('The receipts of this page'),
    next_cursor: nextReceiptCursor,
  }),
  summary: ledgerSummary,
  access: 'receipts',
  toolsets: ['ledger'],
  rest: { method: 'GET', path: '/v1/receipts/ledger' },
  async run({ engine, retention }, caller, asked) {
    const { task_id, lease_id, status, receipt_type, since_receipt_id, limit } = asked
    if ([task_id, lease_id, status, receipt_type].every((value) => value === undefined)) {
      throw invalid('', 'needs at least one of task_id, lease_id, status, receipt_type')
    }
    const tenant = await engine.tenant(caller.tenant)
    const self = principalKey(caller.principal)
    const all = seesAll(caller.role)
    const query: ReceiptQuery = {
      path: receiptPath(task_id, all ? undefined : self),
      from: sinceSeq(engine, tenant, since_receipt_id),
      order: 'ascending',
      limit,
      fits: (receipt) =>
        isInLedger(receipt.receipt_type, receipt_type) &&
        (all || receipt.to === self) &&
        (lease_id === undefined || receipt.lease_id === lease_id) &&
        (status === undefined || ledgerStatus(receipt.receipt_type) === status) &&
        (receipt_type === undefined || receipt.receipt_type === receipt_type),
    }
    const archive = asked.include_archived ? retention.archive : undefined
    const found = await findReceipts(engine, tenant.tenant, query, archive)
    const receipts = await inLedger(engine, tenant, found.rows)
    const last = receipts.length < found.rows.length ? found.rows[receipts.length - 1] : undefined
    const next = last === undefined ? found.next : last.seq
    return { receipts, next_cursor: next === null ? null : engine.receiptId(tenant, next) }
  },
})

/** A blocked task also has a terminal receipt, so policy.blocked is listed only if the filter names it. */
function isInLedger(type: ReceiptType, filter: string | undefined): boolean {
  return LEDGER_TYPES.includes(type) || (type === 'policy.blocked' && filter === type)
}

/** As many of the receipts as fit into a response. Each one repeats the instructions of its task. */
async function inLedger(
  engine: Engine,
  tenant: TenantRef,
  receipts: readonly Receipt[],
): Promise<LedgerReceipt[]> {
  const entries: LedgerReceipt[] = []
  let bytes = 0
  for (let from = 0; from < receipts.length && bytes < PAGE_BYTES; from += CHUNK) {
    const chunk = receipts.slice(from, from + CHUNK)
    const receiptsOf = new Map<string, Receipt[]>()
    for (const receipt of chunk) {
      const { task_id } = receipt
      if (task_id !== null) receiptsOf.set(task_id, [...(receiptsOf.get(task_id) ?? []), receipt])
    }
    const claims = await claimsOf(engine, tenant.tenant, chunk)
    const made = new Map<Receipt, LedgerReceipt>()
    await eachRecord(engine, tenant.tenant, receiptsOf.keys(), (record) => {
      for (const receipt of receiptsOf.get(record.task.task_id) ?? []) {
        made.set(receipt, ledgerReceipt(tenant, receipt, record, claims.get(receipt.seq)))
      }
    })
    for (const receipt of chunk) {
      const entry = made.get(receipt) ?? ledgerReceipt(tenant, receipt, undefined)
      entries.push(entry)
      bytes += receipt.body.length + entry.task_body.length
    }
    await nextTurn()
  }
  return entries
}

/** By the seq of each report of a lease holder, the seq of the task.accepted receipt of its lease. */
async function claimsOf(
  engine: Engine,
  tenant: number,
  receipts: readonly Receipt[],
): Promise<Map<number, number>> {
  const { reads } = engine.store
  const reports = receipts.filter((receipt) => receipt.lease_id !== null && isReport(receipt.receipt_type))
  const ids = new Set(reports.flatMap(({ task_id }) => task_id ?? []))
  if (ids.size === 0) return new Map()
  const tasks = await engine.reading(() => reads.lines(tenant, [...ids]))
  const assignedOf = new Map(tasks.map(({ task_id, seq }) => [task_id, seq]))
  const assignments = new Map<number, number>()
  for (const { seq, task_id } of reports) {
    const assigned = assignedOf.get(task_id ?? '')
    if (assigned !== undefined) assignments.set(seq, assigned)
  }
  const accepted = await engine.reading(() =>
    reads.children(tenant, [...new Set(assignments.values())], ['task.accepted']),
  )
  // A task has one lease at a time, so the lease of a report is the last one accepted before it.
  const claims = new Map<number, number>()
  for (const [report, assigned] of assignments) {
    const earlier = accepted.filter(({ parent, seq }) => parent === assigned && seq < report)
    const last = Math.max(...earlier.map(({ seq }) => seq))
    if (earlier.length > 0) claims.set(report, last)
  }
  return claims
}

function isReport(type: ReceiptType): boolean {
  return type === 'task.completed' || type === 'task.failed'
}
