import { receiptId } from '../../core/ids.ts'
import { type Json, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import { parsePrincipalKey } from '../../core/principal.ts'
import { type Receipt, type ReceiptType, receiptHash } from '../../core/receipt.ts'
import { isoTime } from '../../core/time.ts'
import { jsonText } from '../../engine/stored-json.ts'
import type { TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { isObject } from '../../util/guards.ts'
import { type CreateInput, storedInput } from '../tasks/task-input.ts'
import { type LedgerReceipt, type LedgerStatus, NA, OUTCOME_KINDS } from './ledger-shape.ts'

const MAX_TEXT = 100 * 1024
const MAX_INPUTS = 64 * 1024

/** `claim` is the seq of the task.accepted receipt of the lease, if the receipt is the report of a worker. */
export function ledgerReceipt(
  tenant: TenantRef,
  receipt: Receipt,
  record: TaskRecord | undefined,
  claim?: number,
): LedgerReceipt {
  const input: Partial<CreateInput> = record === undefined ? {} : storedInput(record.spec.input)
  const body = asObject(parseCanonical(receipt.body))
  const phase = phaseOf(receipt.receipt_type)
  const owner = parsePrincipalKey(record?.task.owner ?? receipt.to).id
  const principalAi = record?.task.principal_ai ?? owner
  const escalationTo = phase === 'escalate' ? parsePrincipalKey(receipt.to).id : NA
  return {
    schema_version: '1.0',
    tenant_id: tenant.name,
    receipt_id: receiptId(tenant.salt, receipt.seq),
    task_id: receipt.task_id ?? NA,
    parent_task_id: input.parent_task_id ?? NA,
    caused_by_receipt_id:
      claim === undefined ? (input.caused_by_receipt_id ?? NA) : receiptId(tenant.salt, claim),
    dedupe_key: receiptHash(tenant.salt, receipt),
    attempt: phase === 'escalate' ? Math.max(1, record?.task.expiry_count ?? 1) : (record?.task.attempt ?? 0),
    from_principal: owner,
    for_principal: forPrincipal(receipt, principalAi),
    source_system: 'asyncgate',
    recipient_ai: phase === 'escalate' ? escalationTo : principalAi,
    trust_domain: 'default',
    phase,
    status: ledgerStatus(receipt.receipt_type),
    realtime: false,
    task_type: record?.spec.type ?? NA,
    task_summary: input.summary ?? record?.spec.type ?? NA,
    task_body: taskBody(input),
    inputs: inputsOf(input, record),
    expected_outcome_kind: OUTCOME_KINDS.find((kind) => kind === input.expected_outcome_kind) ?? NA,
    expected_artifact_mime: input.expected_artifact_mime ?? NA,
    ...outcomeOf(receipt, body),
    escalation_class: phase === 'escalate' ? String(body.escalation_class ?? 'policy') : NA,
    escalation_reason: phase === 'escalate' ? String(body.escalation_reason ?? NA) : NA,
    escalation_to: escalationTo,
    retry_requested: body.escalation_reason === 'lease_expired',
    body,
    metadata: {
      receipt_type: receipt.receipt_type,
      lease_id: receipt.lease_id,
      parents: receipt.parents.map((seq) => receiptId(tenant.salt, seq)),
      from_kind: parsePrincipalKey(receipt.from).kind,
      to_kind: parsePrincipalKey(receipt.to).kind,
      instance_id: receipt.instance,
    },
    created_at: isoTime(receipt.created_at),
    stored_at: null,
    started_at: null,
    completed_at: phase === 'complete' ? isoTime(receipt.created_at) : null,
    read_at: null,
    archived_at: null,
  }
}

export function ledgerStatus(type: ReceiptType): LedgerStatus {
  switch (type) {
    case 'task.completed':
      return 'success'
    case 'task.failed':
    case 'policy.blocked':
      return 'failure'
    case 'task.canceled':
      return 'canceled'
    default:
      return NA
  }
}

function phaseOf(type: ReceiptType): LedgerReceipt['phase'] {
  if (type === 'task.escalated') return 'escalate'
  return ledgerStatus(type) === NA ? 'accepted' : 'complete'
}

/** The worker that reports is responsible; AsyncGate is while no worker holds the task. */
function forPrincipal(receipt: Receipt, principalAi: string): string {
  if (receipt.receipt_type === 'task.assigned') return 'asyncgate'
  return receipt.receipt_type === 'task.canceled' ? principalAi : parsePrincipalKey(receipt.from).id
}

function taskBody(input: Partial<CreateInput>): string {
  const text = input.body ?? (input.payload === undefined ? input.payload_pointer : jsonText(input.payload))
  return clip(text ?? NA)
}

function inputsOf(input: Partial<CreateInput>, record: TaskRecord | undefined): JsonObject {
  const pointer =
    input.payload_pointer ?? (record === undefined ? NA : `inline://task/${record.task.task_id}`)
  const inputs = { payload_pointer: pointer, payload: input.payload ?? {} }
  return Buffer.byteLength(jsonText(inputs)) <= MAX_INPUTS ? inputs : { payload_pointer: pointer }
}

type OutcomeFields = Pick<
  LedgerReceipt,
  | 'outcome_kind'
  | 'outcome_text'
  | 'artifact_location'
  | 'artifact_pointer'
  | 'artifact_checksum'
  | 'artifact_size_bytes'
  | 'artifact_mime'
  | 'artifact_refs'
>

const NO_OUTCOME: OutcomeFields = {
  outcome_kind: NA,
  outcome_text: NA,
  artifact_location: NA,
  artifact_pointer: NA,
  artifact_checksum: NA,
  artifact_size_bytes: 0,
  artifact_mime: NA,
}

function outcomeOf(receipt: Receipt, body: JsonObject): OutcomeFields {
  switch (receipt.receipt_type) {
    case 'task.completed':
      return successOf(body)
    case 'task.failed':
      return {
        ...NO_OUTCOME,
        outcome_kind: 'response_text',
        outcome_text: textOf(asObject(body.error).message ?? body.error),
      }
    case 'policy.blocked':
      return { ...NO_OUTCOME, outcome_kind: 'response_text', outcome_text: textOf(body.reason) }
    case 'task.canceled':
      return { ...NO_OUTCOME, outcome_kind: 'none', outcome_text: textOf(body.reason) }
    default:
      return NO_OUTCOME
  }
}

function successOf(body: JsonObject): OutcomeFields {
  const artifacts = artifactsOf(body.artifacts)
  const result = body.result_summary ?? body.result_payload ?? null
  const [first] = artifacts
  if (first === undefined) {
    return {
      ...NO_OUTCOME,
      outcome_kind: result === null ? 'none' : 'response_text',
      outcome_text: textOf(result),
    }
  }
  const pointer = textOf(first.url ?? first.uri ?? first.pointer ?? first.output_path ?? first)
  const size = first.size_bytes ?? first.bytes
  return {
    outcome_kind: result === null ? 'artifact_pointer' : 'mixed',
    outcome_text: textOf(result),
    artifact_pointer: pointer,
    artifact_location: textOf(first.type ?? first.store ?? (pointer.split(':')[0] || 'unknown')),
    artifact_checksum: textOf(first.checksum ?? first.etag),
    artifact_size_bytes: typeof size === 'number' && Number.isInteger(size) && size >= 0 ? size : 0,
    artifact_mime: textOf(first.mime ?? first.content_type ?? 'application/octet-stream'),
    artifact_refs: artifacts,
  }
}

function artifactsOf(artifacts: Json | undefined): JsonObject[] {
  if (artifacts === undefined || artifacts === null) return []
  const list = Array.isArray(artifacts) ? artifacts : [artifacts]
  return list.map((item: Json) => (typeof item === 'string' ? { pointer: item } : asObject(item)))
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return NA
  return clip(typeof value === 'string' ? value : JSON.stringify(value))
}

/** The text cut to the limit of the ledger, never within a character. */
function clip(text: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_TEXT) return text || NA
  return new TextDecoder().decode(bytes.subarray(0, MAX_TEXT), { stream: true })
}

function asObject(value: Json | undefined): JsonObject {
  return value !== undefined && isObject(value) ? value : {}
}
