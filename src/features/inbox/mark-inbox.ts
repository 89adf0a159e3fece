import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import type { ItemRef } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { askedPrincipal, principalFields, taskId, text } from '../input.ts'
import { receiptSeq } from '../receipts/get-receipt.ts'
import { marksShape, marksView } from './shape.ts'

const MAX_MARKED = 200
/** If a task has more items than this, the newest are marked. */
const MAX_PER_TASK = 100

const input = z.strictObject({
  ...principalFields,
  as: z
    .enum(['read', 'promoted', 'archived'])
    .describe('The mark: read, promoted (the result is stored in a memory) or archived'),
  receipt_ids: z
    .array(text(64))
    .min(1)
    .max(MAX_MARKED)
    .optional()
    .describe('The receipts of the items to mark'),
  task_ids: z
    .array(taskId)
    .min(1)
    .max(MAX_MARKED)
    .optional()
    .describe('Mark all items about these tasks, instead of receipt_ids'),
})

export const markInbox = defineOperation({
  name: 'mark_inbox',
  title: 'Mark inbox items',
  description:
    'Marks items of your inbox as read, archived, or promoted (the result is stored in your memory): by receipt_ids, or all items about some tasks by task_ids. Archived and promoted items leave the inbox. ' +
    'Either all items are marked or none, and a mark keeps the time when it was first set.',
  input,
  output: z.object({
    ok: z.literal(true).describe('Always true'),
    items: z.array(marksShape).readonly().describe('The marked items'),
  }),
  access: 'acknowledge',
  toolsets: ['ledger'],
  modelFields: ['as', 'receipt_ids', 'task_ids'],
  rest: { method: 'POST', path: '/v1/inbox/mark' },
  effect: WRITES_ONCE,
  example: {
    principal_id: 'planner',
    task_ids: ['0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c'],
    as: 'archived',
  },
  async run({ engine, fetches }, caller, asked) {
    if ((asked.receipt_ids === undefined) === (asked.task_ids === undefined)) {
      throw invalid('receipt_ids', 'or task_ids is required, and not both')
    }
    const tenant = await engine.tenant(caller.tenant)
    const named = await namedItems(engine, tenant, caller, asked)
    // The response shows all marks, so earlier fetches have to be recorded first.
    for (const principal of new Set(named.map((item) => item.principal))) {
      await fetches.settledOf(tenant.tenant, principal)
    }
    const { items } = await engine.submit({
      verb: 'mark',
      tenant: tenant.tenant,
      by: principalKey(caller.principal),
      role: caller.role,
      as: asked.as,
      items: named,
    })
    return { ok: true, items: items.map((item) => marksView(tenant, item)) } as const
  },
})

/** An admin who names no principal marks the items of the addressees; otherwise items belong to the asked principal. */
async function namedItems(
  engine: Engine,
  tenant: TenantRef,
  caller: Caller,
  asked: z.output<typeof input>,
): Promise<ItemRef[]> {
  const named = askedPrincipal(caller, asked)
  const principal = asked.principal_id === undefined && seesAll(caller.role) ? null : named
  if (asked.task_ids !== undefined) return itemsOfTasks(engine, tenant.tenant, principal, asked.task_ids)
  const seqs = [...new Set((asked.receipt_ids ?? []).map((id) => receiptSeq(engine, tenant, id)))]
  if (principal !== null) return seqs.map((seq) => ({ principal, seq }))
  const receipts = await engine.reading(() => engine.store.reads.receiptsAt(tenant.tenant, seqs))
  const addressee = new Map(receipts.map(({ seq, to }) => [seq, to]))
  return seqs.map((seq) => ({ principal: addressee.get(seq) ?? named, seq }))
}

async function itemsOfTasks(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey | null,
  taskIds: readonly string[],
): Promise<ItemRef[]> {
  const ids = [...new Set(taskIds)]
  const items = await engine.reading(() =>
    engine.store.reads.itemsOfTasks(tenant, principal, ids, INBOX_TYPES, MAX_PER_TASK),
  )
  const found = new Set(items.map((item) => item.task_id))
  const missing = ids.find((id) => !found.has(id))
  if (missing !== undefined) {
    throw new Fault('RECEIPT_NOT_FOUND', { task_id: missing }, 'The inbox has no item about this task.')
  }
  return items.map(({ principal, seq }) => ({ principal, seq }))
}
