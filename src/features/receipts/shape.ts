import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import { receiptId as publicId } from '../../core/ids.ts'
import { INBOX_TYPES } from '../../core/inbox.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { RECEIPT_TYPES, type Receipt } from '../../core/receipt.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedJson } from '../../engine/stored-json.ts'
import type { TenantRef } from '../../store/store.ts'
import { principalShape, time } from '../fields.ts'
import { json, text } from '../input.ts'

export const receiptId = text(64).describe('Id of the receipt')

export const sinceReceiptId = text(64)
  .optional()
  .describe('Continue after this receipt: the cursor of the previous page')

export const receiptShape = z.object({
  receipt_id: z.string().describe('Id of the receipt'),
  seq: z.int().describe('Position in the ledger of the tenant: 1, 2, 3, ... without gaps'),
  receipt_type: z.enum(RECEIPT_TYPES).describe('The event that the receipt records'),
  created_at: time.describe('When the receipt was written'),
  tenant_id: z.string().describe('The tenant whose ledger contains the receipt'),
  from: principalShape.describe('The principal whose action the receipt records'),
  to: principalShape.describe('The principal to which the receipt is addressed'),
  task_id: z.string().nullable().describe('The task that the receipt is about; null if it is about none'),
  lease_id: z.string().nullable().describe('The lease under which it was written; null if there was none'),
  schedule_id: z.string().nullable().describe('The schedule that it is about; null if it is about none'),
  parents: z
    .array(z.string())
    .readonly()
    .describe('Ids of the receipts that this one closes or follows from'),
  body: json.describe('What the receipt states; its members depend on receipt_type'),
  hash: z.string().describe('SHA-256 of the statement, without time and id'),
  asyncgate_instance: z.string().describe('The server instance that wrote the receipt'),
  delivered_at: time
    .nullable()
    .describe('When the receipt was first delivered to the inbox of its addressee; null if it was not'),
})

export type ReceiptView = z.output<typeof receiptShape>

export function receiptView(
  tenant: TenantRef,
  receipt: Receipt,
  deliveredAt: number | null = null,
): ReceiptView {
  return {
    receipt_id: publicId(tenant.salt, receipt.seq),
    seq: receipt.seq,
    receipt_type: receipt.receipt_type,
    created_at: isoTime(receipt.created_at),
    tenant_id: tenant.name,
    from: parsePrincipalKey(receipt.from),
    to: parsePrincipalKey(receipt.to),
    task_id: receipt.task_id,
    lease_id: receipt.lease_id,
    schedule_id: receipt.schedule_id,
    parents: receipt.parents.map((seq) => publicId(tenant.salt, seq)),
    body: storedJson(receipt.body),
    hash: receipt.hash,
    asyncgate_instance: receipt.instance,
    delivered_at: isoOrNull(deliveredAt),
  }
}

/** The receipts with the time of their delivery to their addressees, or to `principal` if it is given. */
export async function withDeliveries(
  engine: Engine,
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

/** The seq that a `since_receipt_id` names; 0 if it is absent. */
export function sinceSeq(engine: Engine, tenant: TenantRef, id: string | undefined): number {
  if (id === undefined) return 0
  return engine.seqOf(tenant, id, () => invalid('since_receipt_id', 'is not a receipt of this tenant'))
}
