import { receiptId } from '../ids.ts'
import { type PrincipalKey, parsePrincipalKey } from '../principal.ts'
import type { Receipt } from '../receipt.ts'
import { isoTime } from '../time.ts'

/** A receipt, and what stands for its body in proofs. */
export interface CommittedReceipt {
  readonly receipt: Receipt
  readonly commitment: string
  /** The secret salt of the commitment; undefined if the body is erased. */
  readonly salt: string | undefined
}

/**
 * The entry of the log for a receipt: the RFC 8785 text of the fields that never change, with a commitment instead of the
 * body. It is written out because it is made for every receipt.
 */
export function leafText(
  tenant: { readonly name: string; readonly salt: string },
  { receipt, commitment }: CommittedReceipt,
): string {
  const { seq, parents } = receipt
  const ids = parents.map((parent) => `"${receiptId(tenant.salt, parent)}"`)
  return (
    `{"asyncgate_instance":${JSON.stringify(receipt.instance)},"body_commitment":${JSON.stringify(commitment)},` +
    `"created_at":"${isoTime(receipt.created_at)}","from":${principal(receipt.from)},` +
    `"lease_id":${JSON.stringify(receipt.lease_id)},"parents":[${ids}],` +
    `"receipt_id":"${receiptId(tenant.salt, seq)}","receipt_type":"${receipt.receipt_type}",` +
    `"schedule_id":${JSON.stringify(receipt.schedule_id)},"seq":${seq},"task_id":${JSON.stringify(receipt.task_id)},` +
    `"tenant_id":${JSON.stringify(tenant.name)},"to":${principal(receipt.to)}}`
  )
}

function principal(key: PrincipalKey): string {
  const { kind, id } = parsePrincipalKey(key)
  return `{"id":${JSON.stringify(id)},"kind":"${kind}"}`
}
