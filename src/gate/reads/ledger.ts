import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { checkRole, seesAll } from '../../core/policy.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { NAMED_RECEIPT_TYPES, type Receipt, type ReceiptType } from '../../core/receipt.ts'
import type { ReceiptPath, TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Engine } from '../engine.ts'
import { parse, taskId, text } from '../input.ts'
import { type LedgerReceipt, ledgerReceipt, ledgerStatus } from '../ledger-receipt.ts'
import { pageLimit } from './paging.ts'
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
export async function listLedger(engine: Engine, caller: Caller, input: unknown): Promise<LedgerPage> {
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
  const isNamed = (receipt: Receipt) =>
    receipt_type === 'policy.blocked' && receipt.receipt_type === receipt_type
  const found = await findReceipts(engine, tenant, {
    path: pathFor(task_id, all, self),
    after: sinceSeq(engine, tenant, asked.since_receipt_id),
    limit: asked.limit,
    fits: (receipt) =>
      (LEDGER_TYPES.includes(receipt.receipt_type) || isNamed(receipt)) &&
      (all || receipt.to === self) &&
      (lease_id === undefined || receipt.lease_id === lease_id) &&
      (status === undefined || ledgerStatus(receipt.receipt_type) === status) &&
      (receipt_type === undefined || receipt.receipt_type === receipt_type),
  })
  const tasks = await tasksOf(engine, tenant, found.receipts)
  const claims = await claimsOf(engine, tenant, found.receipts, tasks)
  return {
    receipts: found.receipts.map((receipt) =>
      ledgerReceipt(tenant, receipt, tasks.get(receipt.task_id ?? ''), claims.get(receipt.seq)),
    ),
    next_cursor: found.next === null ? null : engine.receiptId(tenant, found.next),
  }
}

function pathFor(
  task_id: string | undefined,
  all: boolean,
  self: ReturnType<typeof principalKey>,
): ReceiptPath {
  if (task_id !== undefined) return { by: 'task', task_id }
  return all ? { by: 'all' } : { by: 'to', to: self }
}

async function tasksOf(
  engine: Engine,
  tenant: TenantRef,
  receipts: readonly Receipt[],
): Promise<Map<string, TaskRecord>> {
  const ids = new Set(receipts.flatMap((receipt) => (receipt.task_id === null ? [] : [receipt.task_id])))
  const records = await engine.reading(() => engine.store.reads.tasks(tenant.tenant, [...ids]))
  return new Map(records.map((record) => [record.task.task_id, record]))
}

/** For the reports of lease holders: the seq of the task.accepted of their lease, by the seq of the report. */
async function claimsOf(
  engine: Engine,
  tenant: TenantRef,
  receipts: readonly Receipt[],
  tasks: ReadonlyMap<string, TaskRecord>,
): Promise<Map<number, number>> {
  const reports = receipts.filter((receipt) => receipt.lease_id !== null && isReport(receipt.receipt_type))
  if (reports.length === 0) return new Map()
  const assignments = new Map<number, number>()
  for (const { seq, task_id } of reports) {
    const assigned = tasks.get(task_id ?? '')?.task.seq
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
