import { receiptId } from '../ids.ts'
import { type PrincipalKey, parsePrincipalKey } from '../principal.ts'
import type { Receipt } from '../receipt.ts'
import { isoTime } from '../time.ts'
import { HASH_BYTES, writeLeafHash } from './tree.ts'

/** A receipt, and what stands for its body in proofs. */
export interface CommittedReceipt {
  readonly receipt: Receipt
  readonly commitment: string
  /** The secret salt of the commitment; undefined if the body is erased. */
  readonly salt: string | undefined
}

/** The tenant as its leaves name it. */
export interface LeafTenant {
  readonly name: string
  readonly salt: string
}

/** The hashes of leaves with consecutive seqs. */
export interface LeafRun {
  /** The seq of the first one. */
  readonly first: number
  readonly hashes: Buffer
}

/** What differs between the receipts of a commit, as RFC 8785 texts except for the seqs and the commitment. */
export interface LeafFields {
  readonly seq: number
  readonly commitment: string
  readonly receipt_type: string
  readonly from: string
  readonly to: string
  readonly task_id: string
  readonly lease_id: string
  readonly schedule_id: string
  readonly parents: readonly number[]
}

/** Writes the leaf of a receipt. */
export type LeafTemplate = (fields: LeafFields) => string

/**
 * The entry of the log for a receipt: the RFC 8785 text of the fields that never change, with a commitment instead of the
 * body. It is written out, and what the receipts of a commit have in common is rendered once, because it is made for
 * every receipt.
 */
export function leafTemplate(
  { name, salt }: LeafTenant,
  { instance, created_at }: Pick<Receipt, 'instance' | 'created_at'>,
): LeafTemplate {
  const beginning = `{"asyncgate_instance":${JSON.stringify(instance)},"body_commitment":"`
  const time = `","created_at":"${isoTime(created_at)}","from":`
  const tenant = `,"tenant_id":${JSON.stringify(name)},"to":`
  return (fields) => {
    const { seq, parents } = fields
    const ids = parents.map((parent) => `"${receiptId(salt, parent)}"`).join()
    return `${beginning}${fields.commitment}${time}${fields.from},"lease_id":${fields.lease_id},"parents":[${ids}],"receipt_id":"${receiptId(salt, seq)}","receipt_type":${fields.receipt_type},"schedule_id":${fields.schedule_id},"seq":${seq},"task_id":${fields.task_id}${tenant}${fields.to}}`
  }
}

export function leafText(tenant: LeafTenant, { receipt, commitment }: CommittedReceipt): string {
  const { seq, receipt_type, from, to, task_id, lease_id, schedule_id, parents } = receipt
  return leafTemplate(
    tenant,
    receipt,
  )({
    seq,
    commitment,
    receipt_type: JSON.stringify(receipt_type),
    from: principalText(from),
    to: principalText(to),
    task_id: JSON.stringify(task_id),
    lease_id: JSON.stringify(lease_id),
    schedule_id: JSON.stringify(schedule_id),
    parents,
  })
}

/** The RFC 8785 text of a principal. */
export function principalText(key: PrincipalKey): string {
  const { kind, id } = parsePrincipalKey(key)
  return `{"id":${JSON.stringify(id)},"kind":"${kind}"}`
}

/** Hashes leaves into one buffer. */
export class LeafHasher {
  readonly #hashes: Buffer
  #end = 0

  constructor(count: number) {
    this.#hashes = Buffer.alloc(count * HASH_BYTES)
  }

  add(leaf: string): void {
    writeLeafHash(leaf, this.#hashes, this.#end)
    this.#end += HASH_BYTES
  }

  run(first: number): LeafRun {
    return { first, hashes: this.#hashes.subarray(0, this.#end) }
  }
}

/** The leaves of receipts with consecutive seqs. */
export function leafRun(tenant: LeafTenant, receipts: readonly CommittedReceipt[]): LeafRun {
  const hasher = new LeafHasher(receipts.length)
  for (const committed of receipts) hasher.add(leafText(tenant, committed))
  return hasher.run(receipts[0]?.receipt.seq ?? 0)
}
