import type { LedgerReceipt } from '../../../src/features/receipts/ledger-shape.ts'

const STRINGS = [
  'schema_version',
  'tenant_id',
  'receipt_id',
  'task_id',
  'parent_task_id',
  'caused_by_receipt_id',
  'dedupe_key',
  'from_principal',
  'for_principal',
  'source_system',
  'recipient_ai',
  'trust_domain',
  'task_type',
  'task_summary',
  'task_body',
  'expected_artifact_mime',
  'outcome_text',
  'artifact_location',
  'artifact_pointer',
  'artifact_checksum',
  'artifact_mime',
  'escalation_reason',
  'escalation_to',
]
const NAMED = ['receipt_id', 'from_principal', 'for_principal', 'source_system', 'recipient_ai']
const TIMES = ['created_at', 'stored_at', 'started_at', 'completed_at', 'read_at', 'archived_at']
const OUTCOME_KINDS = ['NA', 'none', 'response_text', 'artifact_pointer', 'mixed']
const ENUMS: Record<string, readonly string[]> = {
  phase: ['accepted', 'complete', 'escalate'],
  status: ['NA', 'success', 'failure', 'canceled'],
  expected_outcome_kind: OUTCOME_KINDS,
  outcome_kind: OUTCOME_KINDS,
  escalation_class: ['NA', 'owner', 'capability', 'trust', 'policy', 'scope', 'other'],
}
const SIZES: Record<string, number> = {
  inputs: 65_536,
  metadata: 16_384,
  task_body: 102_400,
  outcome_text: 102_400,
}
const EVIDENCE = ['artifact_location', 'artifact_pointer', 'artifact_mime']
const OUTCOME = ['outcome_kind', 'outcome_text', 'artifact_checksum', ...EVIDENCE]

export const REQUIRED = [
  ...STRINGS,
  ...TIMES,
  ...Object.keys(ENUMS),
  'attempt',
  'artifact_size_bytes',
  'realtime',
  'retry_requested',
  'inputs',
  'body',
  'metadata',
]

/** The violations of schema 1.0 of the shared ledger, and of the rules that 1.1 adds. */
export function problems(receipt: LedgerReceipt): string[] {
  const fields = receipt as unknown as Record<string, unknown>
  const isText = (name: string) => typeof fields[name] === 'string' && fields[name] !== ''
  const isCount = (name: string) => Number.isInteger(fields[name]) && Number(fields[name]) >= 0
  const isObject = (name: string) =>
    typeof fields[name] === 'object' && fields[name] !== null && !Array.isArray(fields[name])
  const isTime = (name: string) => fields[name] === null || !Number.isNaN(Date.parse(String(fields[name])))
  const found = [
    ...REQUIRED.filter((name) => !(name in fields)).map((name) => `${name} is missing`),
    ...Object.keys(fields).filter((name) => ![...REQUIRED, 'artifact_refs'].includes(name)),
    ...STRINGS.filter((name) => !isText(name)),
    ...NAMED.filter((name) => fields[name] === 'NA' || fields[name] === 'TBD'),
    ...TIMES.filter((name) => !isTime(name)),
    ...['attempt', 'artifact_size_bytes'].filter((name) => !isCount(name)),
    ...['realtime', 'retry_requested'].filter((name) => typeof fields[name] !== 'boolean'),
    ...['inputs', 'body', 'metadata'].filter((name) => !isObject(name)),
    ...Object.keys(ENUMS).filter((name) => !ENUMS[name]?.includes(String(fields[name]))),
    ...Object.keys(SIZES)
      .filter((name) => bytesOf(fields[name]) > (SIZES[name] ?? 0))
      .map((name) => `${name} is too large`),
  ]
  const rule = (name: string, holds: boolean) => holds || found.push(`${receipt.phase}: ${name}`)
  rule('attempt of a retry', !receipt.retry_requested || receipt.attempt >= 1)
  switch (receipt.phase) {
    case 'accepted':
      rule('status', receipt.status === 'NA')
      rule('completed_at', receipt.completed_at === null)
      rule('task_summary', receipt.task_summary !== 'TBD')
      for (const name of OUTCOME) rule(name, fields[name] === 'NA')
      rule('artifact_size_bytes', receipt.artifact_size_bytes === 0)
      rule('escalation', receipt.escalation_class === 'NA' && receipt.escalation_to === 'NA')
      rule('retry_requested', !receipt.retry_requested)
      break
    case 'complete':
      rule('status', receipt.status !== 'NA')
      rule('completed_at', receipt.completed_at !== null)
      rule('outcome_kind', receipt.outcome_kind !== 'NA')
      if (receipt.outcome_kind === 'artifact_pointer' || receipt.outcome_kind === 'mixed') {
        for (const name of EVIDENCE) rule(name, fields[name] !== 'NA')
      }
      rule('escalation_class', receipt.escalation_class === 'NA')
      break
    case 'escalate':
      rule('status', receipt.status === 'NA')
      rule('completed_at', receipt.completed_at === null)
      rule('escalation_class', receipt.escalation_class !== 'NA')
      rule('escalation_to', receipt.escalation_to !== 'NA' && receipt.escalation_to === receipt.recipient_ai)
      rule('escalation_reason', !['NA', 'TBD'].includes(receipt.escalation_reason))
      break
  }
  return found
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value))
}
