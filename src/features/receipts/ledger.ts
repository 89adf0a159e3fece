import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { NAMED_RECEIPT_TYPES, type Receipt, type ReceiptType } from '../../core/receipt.ts'
import { eachRecord, PAGE_BYTES } from '../../engine/portions.ts'
import type { ReceiptPath } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import { parse, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import { type LedgerReceipt, ledgerReceipt, ledgerStatus } from './ledger-receipt.ts'
import { findReceipts } from './receipt-search.ts'
import { sinceSeq } from './receipts.ts'

export const listLedgerInput = z.strictObject({
  task_id: taskId.optional(),
  lease_id: text(128).optional(),
  status: z.enum(['NA', 'success', 'failure', 'canceled']).optional(),
  receipt_type: z.enum(NAMED_RECEIPT_TYPES).optional(),
  since_receipt_id: text(64).optional(),
  limit: pageLimit,
})

/** The receipts that say something about an obligation: taken on, ended, or passed on. */
const LEDGER_TYPES: readonly ReceiptType[] = [
  'task.assigned',
  'task.accepted',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.escalated',
]

export interface LedgerPage {
  readonly receipts: readonly LedgerReceipt[]
  readonly next_cursor: string | null
}

/** Receipts in the canonical shape of the shared ledger, oldest first. Agents see those addressed to them. */
export async function listLedger(engine: Services, caller: Caller, input: unknown): Promise<LedgerPage> {
  checkRole(caller, 'receipts')
  const asked = parse(listLedgerInput, input)
  const { task_id, lease_id, status, receipt_type } = asked
  if ([task_id, lease_id, status, receipt_type].every((value) => value === undefined)) {
    throw invalid('', 'needs at least one of task_id, lease_id, status, receipt_type')
  }
  const tenant = await engine.tenant(caller.tenant)
  const self = principalKey(caller.principal)
  const all = seesAll(caller.role)
  // What a rule blocked has a terminal receipt besides, so it is only shown to who asks for it.
  const isNamed = (receipt: Pick<Receipt, 'receipt_type'>) =>
    receipt_type === 'policy.blocked' && receipt.receipt_type === receipt_type
  const found = await findReceipts(engine, tenant, {
    path: pathFor(task_id, all, self),
    from: sinceSeq(engine, tenant, asked.since_receipt_id),
    order: 'ascending',
    limit: asked.limit,
    fits: (receipt) =>
      (LEDGER_TYPES.includes(receipt.receipt_type) || isNamed(receipt)) &&
      (all || receipt.to === self) &&
      (lease_id === undefined || receipt.lease_id === lease_id) &&
      (status === undefined || ledgerStatus(receipt.receipt_type) === status) &&
      (receipt_type === undefined || receipt.receipt_type === receipt_type),
  })
  const receipts = await inLedger(engine, tenant, found.receipts)
  const last = receipts.length < found.receipts.length ? found.receipts[receipts.length - 1] : undefined
  const next = last === undefined ? found.next : last.seq
  return {
    receipts,
    next_cursor: next === null ? null : engine.receiptId(tenant, next),
  }
}

/** As many of the receipts as fit into an answer: each repeats what its task is about, up to a limit of its own. */
async function inLedger(
  engine: Services,
  tenant: TenantRef,
  receipts: readonly Receipt[],
): Promise<LedgerReceipt[]> {
  const shown: LedgerReceipt[] = []
  let bytes = 0
  for (let from = 0; from < receipts.length && bytes < PAGE_BYTES; from += AT_ONCE) {
    const some = receipts.slice(from, from + AT_ONCE)
    const receiptsOf = new Map<string, Receipt[]>()
    for (const receipt of some) {
      const { task_id } = receipt
      if (task_id !== null) receiptsOf.set(task_id, [...(receiptsOf.get(task_id) ?? []), receipt])
    }
    const claims = await claimsOf(engine, tenant, some)
    const made = new Map<Receipt, LedgerReceipt>()
    await eachRecord(engine, tenant.tenant, receiptsOf.keys(), (record) => {
      for (const receipt of receiptsOf.get(record.task.task_id) ?? []) {
        made.set(receipt, ledgerReceipt(tenant, receipt, record, claims.get(receipt.seq)))
      }
    })
    for (const receipt of some) {
      const entry = made.get(receipt) ?? ledgerReceipt(tenant, receipt, undefined)
      shown.push(entry)
      bytes += receipt.body.length + entry.task_body.length
    }
    await nextTurn()
  }
  return shown
}

/** Receipts whose tasks are looked up together. */
const AT_ONCE = 25

function pathFor(
  task_id: string | undefined,
  all: boolean,
  self: ReturnType<typeof principalKey>,
): ReceiptPath {
  if (task_id !== undefined) return { by: 'task', task_id }
  return all ? { by: 'all' } : { by: 'to', to: self }
}

/** For the reports of lease holders: the seq of the task.accepted of their lease, by the seq of the report. */
async function claimsOf(
  engine: Services,
  tenant: TenantRef,
  receipts: readonly Receipt[],
): Promise<Map<number, number>> {
  const reports = receipts.filter((receipt) => receipt.lease_id !== null && isReport(receipt.receipt_type))
  const ids = new Set(reports.flatMap(({ task_id }) => task_id ?? []))
  if (ids.size === 0) return new Map()
  const tasks = await engine.reading(() => engine.store.reads.lines(tenant.tenant, [...ids]))
  const assignedOf = new Map(tasks.map(({ task_id, seq }) => [task_id, seq]))
  const assignments = new Map<number, number>()
  for (const { seq, task_id } of reports) {
    const assigned = assignedOf.get(task_id ?? '')
    if (assigned !== undefined) assignments.set(seq, assigned)
  }
  const accepted = await engine.reading(() =>
    engine.store.reads.children(tenant.tenant, [...new Set(assignments.values())], ['task.accepted']),
  )
  // A task has one lease at a time, so that of a report is the last one before it.
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
