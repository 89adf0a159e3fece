import { z } from 'zod'
import { checkSelf, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { NAMED_RECEIPT_TYPES } from '../../core/receipt.ts'
import type { ReceiptPath } from '../../store/reads.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import { findReceipts } from './search.ts'
import { receiptShape, sinceReceiptId, sinceSeq, withDeliveries } from './shape.ts'

/** The next page of a list of receipts starts after a receipt. */
export const nextReceiptCursor = z
  .string()
  .nullable()
  .describe('Send it as since_receipt_id to get the next page; null on the last page')

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
  since_receipt_id: sinceReceiptId,
  task_id: taskId.optional().describe('Only receipts of this task'),
  receipt_type: receiptType,
  order: z
    .enum(['oldest', 'newest'])
    .default('oldest')
    .describe('Which receipts come first. With newest, since_receipt_id leads to older receipts'),
  limit: pageLimit,
})

export const listReceipts = defineOperation({
  name: 'list_receipts',
  title: 'List receipts',
  description:
    'Receipts addressed to you, oldest first, filtered by task or type. A page may be short: continue with next_cursor as since_receipt_id until it is null. ' +
    'Admins may name another addressee, and see the receipts of all addressees if they filter by task or type.',
  input,
  output: z.object({
    receipts: z.array(receiptShape).readonly().describe('The receipts of this page'),
    next_cursor: nextReceiptCursor,
  }),
  actor: 'anyone',
  access: 'receipts',
  rest: { method: 'GET', path: '/v1/receipts' },
  effect: READS,
  example: { principal_id: 'planner', task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c' },
  async run({ engine }, caller, asked) {
    const { since_receipt_id, receipt_type, limit } = asked
    const isNewest = asked.order === 'newest'
    const tenant = await engine.tenant(caller.tenant)
    const to = addresseeOf(caller, asked)
    const { rows, next } = await findReceipts(engine, tenant.tenant, {
      path: receiptPath(asked.task_id, to),
      from:
        isNewest && since_receipt_id === undefined
          ? Number.MAX_SAFE_INTEGER
          : sinceSeq(engine, tenant, since_receipt_id),
      order: isNewest ? 'descending' : 'ascending',
      limit,
      fits: (receipt) =>
        (to === undefined || receipt.to === to) &&
        (receipt_type === undefined || receipt.receipt_type === receipt_type),
    })
    return {
      receipts: await withDeliveries(engine, tenant, rows),
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
    const isNarrow = asked.task_id !== undefined || asked.receipt_type !== undefined
    return seesAll(caller.role) && isNarrow ? undefined : principalKey(caller.principal)
  }
  const to: PrincipalKey = `${asked.to_kind ?? 'agent'}:${asked.to_id}`
  checkSelf(caller, to)
  return to
}
