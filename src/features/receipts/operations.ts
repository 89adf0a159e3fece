import { z } from 'zod'
import { operation, READS, WRITES_ONCE } from '../define-operation.ts'
import { configShape, getConfig, health, healthShape, noInput } from '../server/server.ts'
import { receiptShape, relationshipShape, serverShape } from '../shapes.ts'
import { taskShape } from '../tasks/shape.ts'
import { acknowledge, acknowledgeInput } from './acknowledge.ts'
import { bootstrap, bootstrapInput } from './bootstrap.ts'
import { listLedger, listLedgerInput } from './ledger.ts'
import type { LedgerReceipt } from './ledger-receipt.ts'
import { listObligations, listObligationsInput } from './obligations.ts'
import { checkTerminator, getReceipt, getReceiptInput, listReceipts, listReceiptsInput } from './receipts.ts'

export const receiptOperations = [
  operation({
    name: 'list_open_obligations',
    title: 'What is still owed to you',
    description:
      'The receipts that oblige somebody towards you and that nothing has closed yet, oldest first. Call it at the start of a session to see what is under way. Asking changes nothing.',
    input: listObligationsInput,
    output: z.strictObject({
      server: serverShape,
      relationship: relationshipShape,
      open_obligations: z.array(receiptShape).readonly(),
      cursor: z.string().nullable(),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/obligations/open' },
    effect: READS,
    call: listObligations,
  }),
  operation({
    name: 'bootstrap',
    title: 'Report in',
    description:
      'Says who you are here and what needs your attention: results that wait, open tasks, anomalies. Results stay until you acknowledge them or move the cursor past them. list_open_obligations is the newer way to see what is owed.',
    input: bootstrapInput,
    output: z.object({
      server: serverShape,
      relationship: relationshipShape,
      attention: z.object({
        inbox_receipts: z.array(receiptShape).readonly(),
        assigned_tasks: z.array(taskShape).readonly(),
        waiting_results: z.array(taskShape).readonly(),
        running_or_scheduled: z.array(taskShape).readonly(),
        anomalies: z.array(receiptShape).readonly(),
        more: z.boolean().meta({
          description: 'True if something was left out for its size: list_inbox and list_tasks have it',
        }),
      }),
      cursor: z.object({ latest_receipt_id: z.string().nullable() }),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/bootstrap' },
    effect: WRITES_ONCE,
    call: bootstrap,
  }),
  operation({
    name: 'list_receipts',
    title: 'List receipts',
    description:
      'Receipts addressed to you, oldest first, by task or type. Go on with next_cursor as since_receipt_id until it is null.',
    input: listReceiptsInput,
    output: z.object({ receipts: z.array(receiptShape).readonly(), next_cursor: z.string().nullable() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/receipts' },
    effect: READS,
    call: listReceipts,
  }),
  operation({
    name: 'list_receipts_ledger',
    title: 'Receipts in the shape of the shared ledger',
    description:
      'Receipts about taking on, ending and passing on obligations, in the canonical shape that other systems of the ledger use. Needs one of task_id, lease_id, status, receipt_type.',
    input: listLedgerInput,
    output: z.object({
      receipts: z.array(z.custom<LedgerReceipt>().meta({ type: 'object' })).readonly(),
      next_cursor: z.string().nullable(),
    }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/receipts/ledger' },
    effect: READS,
    call: listLedger,
  }),
  operation({
    name: 'get_receipt',
    title: 'Look at a receipt',
    description: 'One receipt, with its parents and body.',
    input: getReceiptInput,
    output: receiptShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/receipts/{receipt_id}' },
    effect: READS,
    call: getReceipt,
  }),
  operation({
    name: 'check_terminator',
    title: 'Is an obligation closed?',
    description: 'Whether a receipt that obliges somebody has been closed, and by which receipt.',
    input: getReceiptInput,
    output: z.object({ has_terminator: z.boolean(), terminator: receiptShape.optional() }),
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/receipts/{receipt_id}/terminator' },
    effect: READS,
    call: checkTerminator,
  }),
  operation({
    name: 'ack_receipt',
    title: 'Acknowledge a receipt',
    description:
      'Says that you have dealt with a receipt addressed to you; a result then leaves your inbox. Acknowledging twice is the same as once.',
    input: acknowledgeInput,
    output: z.object({ ok: z.literal(true), receipt_id: z.string() }),
    actor: 'anyone',
    rest: { method: 'POST', path: '/v1/receipts/{receipt_id}/ack' },
    effect: WRITES_ONCE,
    call: acknowledge,
  }),
] as const

export const serverOperations = [
  operation({
    name: 'get_config',
    title: 'How this server is set up',
    description: 'Version, instance, how receipts are kept and what the server can do. Never a secret.',
    input: noInput,
    output: configShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/config' },
    effect: READS,
    call: getConfig,
  }),
  operation({
    name: 'health',
    title: 'Is the server well?',
    description: 'Whether the server and its database can serve requests.',
    input: noInput,
    output: healthShape,
    actor: 'anyone',
    rest: { method: 'GET', path: '/v1/health' },
    effect: READS,
    call: (services) => health(services),
  }),
] as const
