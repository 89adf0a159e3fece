import { z } from 'zod'
import { checkRole, seesAll } from '../../core/authorization.ts'
import type { ItemRef } from '../../core/command.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { type Caller, PRINCIPAL_KINDS, type PrincipalKey, principalKey } from '../../core/principal.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, taskId, text } from '../input.ts'
import { askedPrincipal } from '../receipts/obligations.ts'
import type { Services } from '../services.ts'
import { type MarksView, marksView } from './view.ts'

const MAX_MARKED = 200
/** Items about one task; the newest are marked. */
const MAX_PER_TASK = 100

export const markInboxInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  as: z.enum(['read', 'promoted', 'archived']),
  receipt_ids: z.array(text(64)).min(1).max(MAX_MARKED).optional(),
  task_ids: z.array(taskId).min(1).max(MAX_MARKED).optional(),
})

type Asked = z.output<typeof markInboxInput>

/** Marks items by their receipts, or all about some tasks. All are marked or none; a mark that is there stays. */
export async function markInbox(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ ok: true; items: MarksView[] }> {
  checkRole(caller, 'receipts')
  const asked = parse(markInboxInput, input)
  if ((asked.receipt_ids === undefined) === (asked.task_ids === undefined)) {
    throw invalid('receipt_ids', 'or task_ids is required, and not both')
  }
  const tenant = await engine.tenant(caller.tenant)
  const named = await namedItems(engine, tenant, caller, asked)
  // The answer shows all marks, so what was fetched before has to be among them.
  for (const principal of new Set(named.map((item) => item.principal))) {
    await engine.fetches.settledOf(tenant.tenant, principal)
  }
  const { items } = await engine.submit({
    verb: 'mark',
    tenant: tenant.tenant,
    by: principalKey(caller.principal),
    role: caller.role,
    as: asked.as,
    items: named,
  })
  return { ok: true, items: items.map((item) => marksView(tenant, item)) }
}

/** Whose items are meant: those of the one that is named, else the own; for who sees all, those of the addressees. */
async function namedItems(
  engine: Services,
  tenant: TenantRef,
  caller: Caller,
  asked: Asked,
): Promise<ItemRef[]> {
  const named = askedPrincipal(caller, asked)
  const principal = asked.principal_id === undefined && seesAll(caller.role) ? null : named
  if (asked.task_ids !== undefined) return itemsOfTasks(engine, tenant, principal, asked.task_ids)
  const seqs = new Set((asked.receipt_ids ?? []).map((id) => seqOf(engine, tenant, id)))
  if (principal !== null) return [...seqs].map((seq) => ({ principal, seq }))
  const receipts = await engine.reading(() => engine.store.reads.receiptsAt(tenant.tenant, [...seqs]))
  const addressee = new Map(receipts.map(({ seq, to }) => [seq, to]))
  return [...seqs].map((seq) => ({ principal: addressee.get(seq) ?? named, seq }))
}

async function itemsOfTasks(
  engine: Services,
  tenant: TenantRef,
  principal: PrincipalKey | null,
  taskIds: readonly string[],
): Promise<ItemRef[]> {
  const ids = [...new Set(taskIds)]
  const items = await engine.reading(() =>
    engine.store.reads.itemsOfTasks(tenant.tenant, principal, ids, INBOX_TYPES, MAX_PER_TASK),
  )
  const found = new Set(items.map((item) => item.task_id))
  const missing = ids.find((id) => !found.has(id))
  if (missing !== undefined) {
    throw new Fault(
      'RECEIPT_NOT_FOUND',
      { task_id: missing },
      'There is nothing about this task in the inbox.',
    )
  }
  return items.map(({ principal: whose, seq }) => ({ principal: whose, seq }))
}

function seqOf(engine: Services, tenant: TenantRef, receipt_id: string): number {
  return engine.seqOf(tenant, receipt_id, () => new Fault('RECEIPT_NOT_FOUND', { receipt_id }))
}
