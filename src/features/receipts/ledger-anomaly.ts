import { body } from '../../core/bodies.ts'
import { canonical, type JsonObject } from '../../core/json/json.ts'
import { GATE, OPERATOR, principalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'

/** What hinders the sending of receipts, and what to do about it. docs/ledger.md has this table. */
export const LEDGER_ADVICE = {
  receipt_backlog:
    'More receipts wait for ReceiptGate than details.threshold. None is lost. Check whether ReceiptGate responds and keeps up.',
  receipt_set_aside:
    'ReceiptGate does not accept this receipt; details.reason says why. Once that is repaired, run "asyncgate ledger requeue".',
  receipt_completion_ignored:
    'ReceiptGate has a completion of this task that does not fit it; details.reason says why. The task was not ended. Find out which system has written it.',
  receipt_ledger_misconfigured:
    'ReceiptGate refuses requests of this server. Check RECEIPTGATE_ENDPOINT and RECEIPTGATE_AUTH_TOKEN.',
} as const

/** Something that hinders the sending of receipts to the shared ledger. */
export interface LedgerAnomaly {
  readonly kind: keyof typeof LEDGER_ADVICE
  readonly details: JsonObject
}

/** Notifies the escalation target, or else the operator of the server. */
export async function reportLedgerAnomaly(
  engine: Engine,
  tenant: string,
  { kind, details }: LedgerAnomaly,
): Promise<void> {
  const ref = await engine.tenant(tenant)
  await engine.submit({
    verb: 'record',
    tenant: ref.tenant,
    type: 'system.anomaly',
    from: GATE,
    to: engine.settings.escalation_target ?? principalKey(OPERATOR),
    body: body({
      details: canonical(details),
      kind: canonical(kind),
      recommended_action: canonical(LEDGER_ADVICE[kind]),
    }),
  })
}
