import { z } from 'zod'
import {
  type ReceiptRouting,
  receiptRouting,
  receiptRoutingShape,
  type SharedLedger,
} from '../receipts/shared-ledger.ts'

/** What workers of the shared ledger expect in an offer besides the task. */
export const contractFields = {
  tenant_id: z.string().optional().describe('Tenant of the task; only present with a ReceiptGate'),
  constraints: z
    .object({
      time_budget_seconds: z.int().nullable().describe('Seconds that the attempt may take; null: no limit'),
      deadline_at: z.string().nullable().describe('Time by which the task must have ended; null: none'),
    })
    .optional()
    .describe('Limits of the work; only present with a ReceiptGate'),
  receipt_routing: receiptRoutingShape
    .optional()
    .describe('Where receipts go; only present with a ReceiptGate'),
  artifact_routing: z
    .object({
      endpoint: z.string().describe('Path of this server that a result of any size can be uploaded to'),
      auth_ref: z.literal('asyncgate').describe('The key with which the task was claimed'),
    })
    .optional()
    .describe('Where artifacts go; only present with a ReceiptGate'),
}

interface Offer {
  readonly task_id: string
  readonly timeout_seconds: number | null
  readonly deadline_at: string | null
}

interface ContractView {
  readonly tenant_id: string
  readonly constraints: { readonly time_budget_seconds: number | null; readonly deadline_at: string | null }
  readonly receipt_routing: ReceiptRouting
  readonly artifact_routing: { readonly endpoint: string; readonly auth_ref: 'asyncgate' }
}

/** An offer with what workers of the shared ledger expect. */
export function withContract<Task extends Offer>(
  offer: Task,
  tenant: string,
  ledger: SharedLedger,
): Task & ContractView {
  return {
    ...offer,
    tenant_id: tenant,
    constraints: { time_budget_seconds: offer.timeout_seconds, deadline_at: offer.deadline_at },
    receipt_routing: receiptRouting(ledger),
    artifact_routing: { endpoint: `/v1/tasks/${offer.task_id}/result`, auth_ref: 'asyncgate' },
  }
}
