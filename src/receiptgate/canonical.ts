import { receiptId } from '../core/ids.ts'
import type { JsonObject } from '../core/json/json.ts'
import { GATE, type PrincipalKey, parsePrincipalKey } from '../core/principal.ts'
import type { Receipt, ReceiptType } from '../core/receipt.ts'
import { isoOrNull } from '../core/time.ts'
import { ledgerReceipt } from '../features/receipts/ledger-receipt.ts'
import { type LedgerReceipt, NA } from '../features/receipts/ledger-shape.ts'
import type { Child, TaskRecord } from '../store/reads.ts'
import type { TenantRef } from '../store/store.ts'
import type { CanonicalReceipt, Profile } from './shape.ts'
import { fitted } from './sizes.ts'

const TYPES: ReadonlySet<ReceiptType> = new Set([
  'task.accepted',
  'task.completed',
  'task.failed',
  'task.canceled',
  'task.escalated',
])
const TYPES_WITH_ASSIGNED: ReadonlySet<ReceiptType> = new Set([...TYPES, 'task.assigned'])

/** The types that can have a counterpart in the shared ledger. All of them belong to a task. */
export function forwardedTypes({ forwardsAssigned }: Target): ReadonlySet<ReceiptType> {
  return forwardsAssigned ? TYPES_WITH_ASSIGNED : TYPES
}

/** The types of receipts about a task that decide how a later one is rendered. */
export const HISTORY_TYPES: readonly ReceiptType[] = [
  'task.accepted',
  'task.escalated',
  'task.retry_scheduled',
  'lease.expired',
]

/** A receipt with everything that its rendering depends on. */
export interface Source {
  readonly tenant: TenantRef
  readonly receipt: Receipt
  readonly record: TaskRecord
  /** The receipts of HISTORY_TYPES about the same task. Later ones than the receipt are ignored. */
  readonly history: readonly Child[]
  /** The target of the last escalation before the receipt. */
  readonly escalatedTo: PrincipalKey | undefined
}

export interface Target {
  readonly profile: Profile
  /** The tenant of the shared ledger. */
  readonly tenantId: string
  /** Whether new tasks are sent too. Only in 1.0: in 1.1 a task would then have no way to its worker. */
  readonly forwardsAssigned?: boolean
}

/** The receipt in the format of the shared ledger; undefined if it has no counterpart there. */
export function canonicalReceipt(source: Source, target: Target): CanonicalReceipt | undefined {
  const { tenant, receipt, record } = source
  const past = pastOf(source)
  if (!isForwarded(receipt, past, target)) return undefined
  const plain = ledgerReceipt(tenant, receipt, record, past.claim)
  const owner = nameOf(plain.from_principal)
  const isEscalation = plain.phase === 'escalate'
  const isAccepted = plain.phase === 'accepted'
  const actsFor = target.profile === '1.1' && !isAccepted ? nameOf(past.custodian ?? owner) : owner
  const recipient = nameOf(plain.recipient_ai)
  return fitted({
    ...plain,
    tenant_id: target.tenantId,
    ...(target.profile === '1.1' && { obligation_id: receiptId(tenant.salt, record.task.seq) }),
    caused_by_receipt_id: causeOf(source, past) ?? plain.caused_by_receipt_id,
    attempt: isEscalation
      ? Math.max(1, plain.retry_requested ? past.expiries : past.attempts)
      : past.attempts,
    from_principal: actsFor,
    for_principal: nameOf(plain.for_principal),
    recipient_ai: recipient,
    task_summary: plain.task_summary === 'TBD' ? plain.task_type : plain.task_summary,
    ...(plain.artifact_refs !== undefined && artifactFields(plain)),
    escalation_class: isEscalation ? classOf(plain.escalation_class) : NA,
    escalation_to: isEscalation ? recipient : NA,
    body: bodyOf(plain),
    metadata: { ...plain.metadata, custody_deadline: isoOrNull(record.task.deadline_at) },
  })
}

/** What happened to the task before a receipt. */
interface Past {
  /** The seq of the claim under which the receipt was written. */
  readonly claim: number | undefined
  readonly claims: number
  /** The seq of the last escalation. */
  readonly escalation: number | undefined
  /** The principal that the shared ledger holds responsible: the first worker, or the last target of an escalation. */
  readonly custodian: string | undefined
  readonly attempts: number
  readonly expiries: number
}

function pastOf({ receipt, history, escalatedTo }: Source): Past {
  const before = history.filter(({ seq }) => seq < receipt.seq).sort((a, b) => a.seq - b.seq)
  const of = (type: ReceiptType) => before.filter(({ receipt_type }) => receipt_type === type)
  const claims = of('task.accepted')
  const [first] = claims
  const custodian = escalatedTo ?? first?.from
  return {
    claim: claims.at(-1)?.seq,
    claims: claims.length,
    escalation: of('task.escalated').at(-1)?.seq,
    custodian: custodian === undefined ? undefined : parsePrincipalKey(custodian).id,
    attempts: of('task.retry_scheduled').length,
    expiries: of('lease.expired').length,
  }
}

function isForwarded(
  { receipt_type, parents, from, lease_id }: Receipt,
  past: Past,
  { profile, forwardsAssigned = false }: Target,
): boolean {
  // Every report of a worker names its lease, except for one that the shared ledger had first.
  const isReconciled = lease_id === null && from !== GATE
  switch (receipt_type) {
    case 'task.assigned':
      return forwardsAssigned && profile === '1.0'
    case 'task.accepted':
      // A later claim of the same task is an offer of work and takes over its obligation. In 1.0 an escalation ends the
      // obligation, so that the next claim opens another one.
      return past.claims === 0 || (profile === '1.0' && isAfter(past.escalation, past.claim))
    case 'task.completed':
      // A success that does not locate its result leaves the obligation open until the worker repeats it.
      return parents.length > 0 && isOpen(past, profile) && !isReconciled
    case 'task.failed':
      return isOpen(past, profile) && !isReconciled
    case 'task.canceled':
    case 'task.escalated':
      return isOpen(past, profile)
    default:
      return false
  }
}

/** 1.1 refuses the end of an obligation that no claim has opened. */
function isOpen(past: Past, profile: Profile): boolean {
  return profile === '1.0' || past.claims > 0
}

function isAfter(seq: number | undefined, other: number | undefined): boolean {
  return seq !== undefined && (other === undefined || seq > other)
}

/** The receipt that led to this one, if it is one of the same task. */
function causeOf({ tenant, receipt }: Source, past: Past): string | undefined {
  const seq = receipt.receipt_type === 'task.accepted' ? past.escalation : past.claim
  return seq === undefined ? undefined : receiptId(tenant.salt, seq)
}

/** `NA` and `TBD` mean that there is no value, so a principal with such a name is written with its kind. */
export function nameOf(id: string): string {
  return id === NA || id === 'TBD' ? `principal:${id}` : id
}

const CLASSES: readonly string[] = ['owner', 'capability', 'trust', 'policy', 'scope', 'other']

function classOf(name: string): string {
  return CLASSES.includes(name) ? name : 'other'
}

/** A receipt with an artifact must say where it is and what it is. */
function artifactFields(plain: LedgerReceipt) {
  const or = (value: string, other: string) => (value === NA ? other : value)
  return {
    artifact_pointer: or(plain.artifact_pointer, 'unknown'),
    artifact_location: or(plain.artifact_location, 'unknown'),
    artifact_mime: or(plain.artifact_mime, 'application/octet-stream'),
  }
}

/** The body of the local receipt, and the members that readers of earlier formats look for. */
function bodyOf({ phase, body, escalation_reason, recipient_ai }: LedgerReceipt): JsonObject {
  if (phase === 'complete') return { ...body, result: body.result_payload ?? null }
  if (phase === 'escalate') return { ...body, escalation: { to: recipient_ai, reason: escalation_reason } }
  return body
}
