import { z } from 'zod'
import { checkReader, checkRole, checkSelf, forbidden, seesAll } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { NAMED_RECEIPT_TYPES, type Receipt } from '../../core/receipt.ts'
import { terminatorsOf } from '../../core/termination.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import type { ReceiptView } from '../shapes.ts'
import { readTask } from '../tasks/read-task.ts'
import { receiptView } from '../view.ts'
import { findReceipts } from './receipt-search.ts'

const receiptId = text(64)

export const listReceiptsInput = z.strictObject({
  to_kind: z.enum(PRINCIPAL_KINDS).optional(),
  to_id: text(255).optional(),
  since_receipt_id: receiptId.optional(),
  task_id: taskId.optional(),
  receipt_type: z.enum(NAMED_RECEIPT_TYPES).optional(),
  order: z
    .enum(['oldest', 'newest'])
    .default('oldest')
    .meta({ description: 'newest: since_receipt_id then leads to what is older' }),
  limit: pageLimit,
})

export interface ReceiptPage {
  readonly receipts: readonly ReceiptView[]
  /** To be sent as since_receipt_id; null at the end. */
  readonly next_cursor: string | null
}

/**
 * Receipts addressed to the caller, oldest first unless asked otherwise. Admins may name another recipient, or none with a
 * task or a type.
 */
export async function listReceipts(engine: Services, caller: Caller, input: unknown): Promise<ReceiptPage> {
  checkRole(caller, 'receipts')
  const asked = parse(listReceiptsInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const to = recipientOf(caller, asked)
  const found = await findReceipts(engine, tenant, {
    path:
      asked.task_id !== undefined
        ? { by: 'task', task_id: asked.task_id }
        : to === undefined
          ? { by: 'all' }
          : { by: 'to', to },
    from:
      asked.order === 'newest' && asked.since_receipt_id === undefined
        ? Number.MAX_SAFE_INTEGER
        : sinceSeq(engine, tenant, asked.since_receipt_id),
    order: asked.order === 'newest' ? 'descending' : 'ascending',
    limit: asked.limit,
    fits: (receipt) =>
      (to === undefined || receipt.to === to) &&
      (asked.receipt_type === undefined || receipt.receipt_type === asked.receipt_type),
  })
  return {
    receipts: await withDeliveries(engine, tenant, found.receipts),
    next_cursor: found.next === null ? null : engine.receiptId(tenant, found.next),
  }
}

export const getReceiptInput = z.strictObject({ receipt_id: receiptId })

export async function getReceipt(engine: Services, caller: Caller, input: unknown): Promise<ReceiptView> {
  const { tenant, receipt } = await readReceipt(engine, caller, input)
  const [view] = await withDeliveries(engine, tenant, [receipt])
  if (view === undefined) throw new Fault('RECEIPT_NOT_FOUND')
  return view
}

export interface TerminatorAnswer {
  readonly has_terminator: boolean
  readonly terminator?: ReceiptView
}

/** Whether an obligation is closed, and by which receipt: the newest that may close it and names it as parent. */
export async function checkTerminator(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<TerminatorAnswer> {
  const { tenant, receipt } = await readReceipt(engine, caller, input)
  const types = terminatorsOf(receipt.receipt_type)
  if (types.length === 0) return { has_terminator: false }
  const { reads } = engine.store
  const children = await engine.reading(() => reads.children(tenant.tenant, [receipt.seq], types))
  const newest = Math.max(...children.map((child) => child.seq))
  const terminator =
    children.length === 0 ? undefined : await engine.reading(() => reads.receipt(tenant.tenant, newest))
  if (terminator === undefined) return { has_terminator: false }
  return { has_terminator: true, terminator: receiptView(tenant, terminator) }
}

/** A receipt is shown to both its parties, and to those who may see its task. */
async function readReceipt(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'receipts')
  const { receipt_id } = parse(getReceiptInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const absent = () => new Fault('RECEIPT_NOT_FOUND', { receipt_id })
  const seq = engine.seqOf(tenant, receipt_id, absent)
  const receipt = await engine.reading(() => engine.store.reads.receipt(tenant.tenant, seq))
  if (receipt === undefined) throw absent()
  const self = principalKey(caller.principal)
  if (!seesAll(caller.role) && receipt.to !== self && receipt.from !== self) {
    if (receipt.task_id === null) throw forbidden('admin', caller.role)
    checkReader((await readTask(engine, tenant, receipt.task_id)).task, caller)
  }
  return { tenant, receipt }
}

/** Whose receipts are asked for; undefined is everybody's, which only those who see all may ask. */
function recipientOf(
  caller: Caller,
  asked: {
    to_kind?: (typeof PRINCIPAL_KINDS)[number] | undefined
    to_id?: string | undefined
    task_id?: string | undefined
    receipt_type?: string | undefined
  },
): PrincipalKey | undefined {
  if (asked.to_id === undefined) {
    if (asked.to_kind !== undefined) throw invalid('to_id', 'is required with to_kind')
    const isNarrow = asked.task_id !== undefined || asked.receipt_type !== undefined
    return seesAll(caller.role) && isNarrow ? undefined : principalKey(caller.principal)
  }
  const to: PrincipalKey = `${asked.to_kind ?? 'agent'}:${asked.to_id}`
  checkSelf(caller, to)
  return to
}

export function sinceSeq(engine: Services, tenant: TenantRef, receiptId: string | undefined): number {
  if (receiptId === undefined) return 0
  return engine.seqOf(tenant, receiptId, () => invalid('since_receipt_id', 'is not a receipt of this tenant'))
}

/** Each with the time when it was handed to whom it is addressed, or to the one that is named. */
export async function withDeliveries(
  engine: Services,
  tenant: TenantRef,
  receipts: readonly Receipt[],
  principal?: PrincipalKey,
): Promise<ReceiptView[]> {
  const refs = receipts
    .filter((receipt) => INBOX_TYPES.includes(receipt.receipt_type))
    .map(({ to, seq }) => ({ principal: principal ?? to, seq }))
  const items = await engine.reading(() => engine.store.reads.items(tenant.tenant, refs))
  const deliveredAt = new Map(items.map((item) => [item.seq, item.delivered_at]))
  return receipts.map((receipt) => receiptView(tenant, receipt, deliveredAt.get(receipt.seq) ?? null))
}
