import { z } from 'zod'
import { jsonObject, time } from '../input.ts'

/** Stands for a value that does not apply. */
export const NA = 'NA'

export const OUTCOME_KINDS = [NA, 'none', 'response_text', 'artifact_pointer', 'mixed'] as const
export const LEDGER_STATUSES = [NA, 'success', 'failure', 'canceled'] as const

const text = z.string()

/** The canonical receipt of the shared ledger, version 1.0. */
export const ledgerReceiptShape = z.object({
  schema_version: z.literal('1.0').describe('Version of this format'),
  tenant_id: text.describe('The tenant whose ledger contains the receipt'),
  receipt_id: text.describe('Id of the receipt'),
  task_id: text.describe('The task that the receipt is about; NA if it is about none'),
  parent_task_id: text.describe('The parent_task_id of the task, or NA'),
  caused_by_receipt_id: text.describe(
    'For the report of a worker, the task.accepted receipt of its lease; otherwise the caused_by_receipt_id of the task, or NA',
  ),
  dedupe_key: text.describe('Hash of the receipt: the same statement has the same key'),
  attempt: z
    .int()
    .describe(
      'Failed attempts of the task that were retried; for an escalation the number of expired leases, at least 1',
    ),
  from_principal: text.describe('Id of the owner of the task'),
  for_principal: text.describe(
    'Id of the principal that is responsible at this point: the worker, or asyncgate while no worker holds the task',
  ),
  source_system: z.literal('asyncgate').describe('The system that wrote the receipt'),
  recipient_ai: text.describe(
    'Id of the agent for which the task is done, or of the principal that an escalation is addressed to',
  ),
  trust_domain: z.literal('default').describe('Always default'),
  phase: z
    .enum(['accepted', 'complete', 'escalate'])
    .describe('What happened to the obligation: it was taken on, it ended, or it was escalated'),
  status: z.enum(LEDGER_STATUSES).describe('How the task ended; NA unless phase is complete'),
  realtime: z.literal(false).describe('Always false: tasks are asynchronous'),
  task_type: text.describe('Type of the task, or NA'),
  task_summary: text.describe('Summary of the task, or its type if it has none'),
  task_body: text.describe(
    'Instructions of the task: its body, its payload as JSON text, or its payload_pointer. Cut to 100 KiB',
  ),
  inputs: jsonObject.describe(
    'payload_pointer and payload of the task. The payload is left out if it exceeds 64 KiB',
  ),
  expected_outcome_kind: z
    .enum(OUTCOME_KINDS)
    .describe('The expected_outcome_kind of the task if it is one of these values, otherwise NA'),
  expected_artifact_mime: text.describe('Media type that the owner of the task expects, or NA'),
  outcome_kind: z
    .enum(OUTCOME_KINDS)
    .describe('What the task produced: a text, artifacts, both (mixed) or none; NA unless phase is complete'),
  outcome_text: text.describe(
    'Result summary, result, error message or reason, cut to 100 KiB; NA if there is none',
  ),
  artifact_location: text.describe(
    'Kind of storage of the first artifact, such as https or s3; NA without artifacts',
  ),
  artifact_pointer: text.describe('URL or other pointer to the first artifact; NA without artifacts'),
  artifact_checksum: text.describe('Checksum or ETag of the first artifact, or NA'),
  artifact_size_bytes: z.int().describe('Size of the first artifact in bytes; 0 if it is not known'),
  artifact_mime: text.describe('Media type of the first artifact; NA without artifacts'),
  artifact_refs: z
    .array(jsonObject)
    .readonly()
    .optional()
    .describe('All artifacts, as the worker reported them; absent without artifacts'),
  escalation_class: text.describe('Category of the escalation, such as policy; NA unless phase is escalate'),
  escalation_reason: text.describe(
    'Why the task was escalated, such as lease_expired; NA unless phase is escalate',
  ),
  escalation_to: text.describe('Id of the principal that the escalation is addressed to, or NA'),
  retry_requested: z.boolean().describe('Whether the task is tried again: true if a lease expired'),
  body: jsonObject.describe('Body of the receipt'),
  metadata: jsonObject.describe(
    'receipt_type, lease_id, parents, from_kind, to_kind and instance_id of the receipt',
  ),
  created_at: time.describe('When the receipt was written'),
  stored_at: z.null().describe('Always null; set by the shared ledger'),
  started_at: z.null().describe('Always null; AsyncGate does not report it here'),
  completed_at: time.nullable().describe('When the task ended; null unless phase is complete'),
  read_at: z.null().describe('Always null; set by the shared ledger'),
  archived_at: z.null().describe('Always null; set by the shared ledger'),
})

export type LedgerReceipt = z.output<typeof ledgerReceiptShape>
export type LedgerStatus = LedgerReceipt['status']
