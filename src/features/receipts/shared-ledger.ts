import { z } from 'zod'
import { type Caller, DEFAULT_TENANT } from '../../core/principal.ts'
import type { OutboxCounts } from '../../store/outbox.ts'

/** The ReceiptGate that receipts of the default tenant are sent to. */
export interface SharedLedger {
  /** The URL that receipts are sent to. */
  readonly endpoint: string
  readonly profile: '1.0' | '1.1'
  /** The receipts that it has not accepted yet. */
  lag(): Promise<OutboxCounts>
}

/** The name of the credential, not the credential: workers get theirs from the operator. */
const AUTH_REF = 'RECEIPTGATE_AUTH_TOKEN'

export const receiptRoutingShape = z.object({
  mode: z.literal('receiptgate_integrated').describe('Where receipts are stored besides this server'),
  endpoint: z.string().describe('URL of the ReceiptGate'),
  memorygate_url: z.string().describe('The same URL, under the name of earlier versions'),
  auth_ref: z.string().describe('Name of the credential for the ReceiptGate. Its value is never sent'),
  schema_version: z.string().describe('Version of the receipts that the ReceiptGate accepts'),
  emit_receipts_to: z
    .literal('asyncgate')
    .describe('To whom workers report: AsyncGate sends the receipts about tasks itself'),
  worker_must_emit_to_memorygate: z
    .literal(false)
    .describe('Workers need not send receipts to the ReceiptGate'),
})

export type ReceiptRouting = z.output<typeof receiptRoutingShape>

/** The shared ledger of a caller; undefined if its receipts stay on this server. */
export function ledgerOf(ledger: SharedLedger | undefined, { tenant }: Caller): SharedLedger | undefined {
  return tenant === DEFAULT_TENANT ? ledger : undefined
}

export function receiptRouting({ endpoint, profile }: SharedLedger): ReceiptRouting {
  return {
    mode: 'receiptgate_integrated',
    endpoint,
    memorygate_url: endpoint,
    auth_ref: AUTH_REF,
    schema_version: profile,
    emit_receipts_to: 'asyncgate',
    worker_must_emit_to_memorygate: false,
  }
}

/** In words; undefined if the shared ledger is up to date. */
export function lagText({ pending, set_aside }: OutboxCounts): string | undefined {
  if (pending + set_aside === 0) return undefined
  const waiting = `${pending} receipts pending`
  return set_aside === 0 ? waiting : `${waiting}, ${set_aside} set aside`
}
