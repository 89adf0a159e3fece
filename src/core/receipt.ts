import { hash } from 'node:crypto'
import { Fault } from './errors.ts'
import { receiptId } from './ids.ts'
import type { CanonicalJson } from './json/json.ts'
import type { PrincipalKey } from './principal.ts'

export const RECEIPT_TYPES = [
  'task.assigned',
  'task.accepted',
  'task.started',
  'task.progress',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.retry_scheduled',
  'task.result_ready',
  'task.escalated',
  'question.asked',
  'question.answered',
  'lease.expired',
  'lease.released',
  'receipt.acknowledged',
  'schedule.created',
  'schedule.deleted',
  'policy.changed',
  'policy.blocked',
  'upstream.changed',
  'system.anomaly',
] as const

export type ReceiptType = (typeof RECEIPT_TYPES)[number]

/** Which receipts close which obligations. Other types create no obligation. */
const TERMINATORS: Partial<Record<ReceiptType, readonly ReceiptType[]>> = {
  'task.assigned': ['task.completed', 'task.failed', 'task.canceled'],
  'schedule.created': ['schedule.deleted'],
}

const TERMINAL_TYPES: ReadonlySet<ReceiptType> = new Set(Object.values(TERMINATORS).flat())

export function createsObligation(type: ReceiptType): boolean {
  return TERMINATORS[type] !== undefined
}

export function canTerminate(terminator: ReceiptType, parent: ReceiptType): boolean {
  return TERMINATORS[parent]?.includes(terminator) ?? false
}

export function isTerminalType(type: ReceiptType): boolean {
  return TERMINAL_TYPES.has(type)
}

export function terminatorsOf(type: ReceiptType): readonly ReceiptType[] {
  return TERMINATORS[type] ?? []
}

/** Names that nothing else may take. No receipt has them yet; queries may name them, and find nothing. */
const RESERVED_RECEIPT_TYPES = ['task.transferred'] as const
export const NAMED_RECEIPT_TYPES = [...RECEIPT_TYPES, ...RESERVED_RECEIPT_TYPES] as const

export const MAX_BODY_BYTES = 64 * 1024
export const MAX_PARENTS = 10
export const MAX_ARTIFACTS = 100

/** What a receipt says. Parents are named by seq; all are of the same tenant. */
export interface Statement {
  readonly receipt_type: ReceiptType
  readonly from: PrincipalKey
  readonly to: PrincipalKey
  readonly task_id: string | null
  readonly lease_id: string | null
  readonly schedule_id: string | null
  readonly parents: readonly number[]
  readonly body: CanonicalJson
}

/** An immutable proof of one step: a statement, and its place in the ledger. */
export interface Receipt extends Statement {
  readonly tenant: number
  readonly seq: number
  readonly created_at: number
  readonly instance: string
  /** Its body was erased: it contains only the time of that and a commitment to the former body. */
  readonly erased?: true
  /** Its secret salt, if it is restored. Others get theirs when they are written. */
  readonly salt?: string
}

/** Equal for equal statements, whenever and wherever they were made. For comparing, not a cryptographic proof. */
export function receiptHash(salt: string, statement: Statement): string {
  return hash('sha256', canonicalStatement(salt, statement))
}

/** The RFC 8785 text of a statement, written out because it is made for every receipt. */
function canonicalStatement(salt: string, statement: Statement): string {
  const { parents } = statement
  const ordered = parents.length > 1 ? [...parents].sort((a, b) => a - b) : parents
  const ids = ordered.map((seq) => `"${receiptId(salt, seq)}"`)
  return `{"body":${statement.body},"from":${JSON.stringify(statement.from)},"lease_id":${JSON.stringify(statement.lease_id)},"parents":[${ids}],"receipt_type":"${statement.receipt_type}","schedule_id":${JSON.stringify(statement.schedule_id)},"task_id":${JSON.stringify(statement.task_id)},"to":${JSON.stringify(statement.to)}}`
}

/**
 * No two receipts of a tenant have the same key. A completion that names no obligation is another statement than
 * the one that repairs it, hence the last part.
 */
export function receiptKey(receipt: Receipt): string | undefined {
  switch (receipt.receipt_type) {
    case 'task.accepted':
    case 'task.started':
    case 'task.completed':
    case 'task.failed':
    case 'task.canceled':
      return [
        receipt.receipt_type,
        receipt.task_id,
        receipt.from,
        receipt.lease_id,
        receipt.parents.length > 0 ? 'closes' : 'open',
      ].join(' ')
    case 'schedule.created':
    case 'schedule.deleted':
      return `${receipt.receipt_type} ${receipt.schedule_id}`
    default:
      return undefined
  }
}

/** A character takes at most three bytes, so short texts need no counting. */
export function isWithinLimit(body: CanonicalJson): boolean {
  return body.length * 3 <= MAX_BODY_BYTES || Buffer.byteLength(body) <= MAX_BODY_BYTES
}

/** The ledger's limits. `lastSeq` is the newest seq given out: seqs have no gaps, so up to there all exist. */
export function checkReceipt(receipt: Receipt, lastSeq: number, closes: boolean): void {
  if (!isWithinLimit(receipt.body)) {
    throw new Fault('RECEIPT_TOO_LARGE', { receipt_type: receipt.receipt_type, limit_bytes: MAX_BODY_BYTES })
  }
  if (receipt.parents.length > MAX_PARENTS) {
    throw new Fault('TOO_MANY_PARENTS', { parents: receipt.parents.length })
  }
  if (closes && isTerminalType(receipt.receipt_type) && receipt.parents.length === 0) {
    throw new Fault('PARENT_REQUIRED', { receipt_type: receipt.receipt_type })
  }
  for (const parent of receipt.parents) {
    if (parent < 1 || parent > lastSeq) throw new Fault('PARENT_NOT_FOUND', { parent })
  }
}
