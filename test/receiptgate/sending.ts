import type { LedgerAnomaly } from '../../src/features/receipts/ledger-anomaly.ts'
import { receiptGateClient } from '../../src/receiptgate/client.ts'
import { ReceiptSender, type SenderOptions } from '../../src/receiptgate/sender.ts'
import type { Profile } from '../../src/receiptgate/shape.ts'
import type { Bench } from '../support/gates.ts'
import type { ReceiptGate } from '../support/receiptgate.ts'

export const BREAKER = { failures: 5, openMs: 60_000, probes: 3, successes: 2 }

/** The sender of a bench, with what it reported. */
export async function senderOn(
  { store, gate }: Pick<Bench, 'store' | 'gate'>,
  remote: Pick<ReceiptGate, 'url' | 'key'>,
  options: Partial<SenderOptions> & { readonly profile?: Profile; readonly timeoutMs?: number } = {},
) {
  const { profile = '1.0', timeoutMs = 20_000, ...more } = options
  const anomalies: LedgerAnomaly[] = []
  const sender = new ReceiptSender({
    store,
    tenant: await store.tenant('default'),
    holder: 'a',
    client: receiptGateClient({ url: `${remote.url}/mcp`, token: remote.key, timeoutMs }),
    target: { profile, tenantId: 'default' },
    retryMs: 30_000,
    maxTries: 10,
    bufferSize: 10_000,
    breaker: BREAKER,
    log: { warn() {}, error() {} },
    async report(anomaly) {
      anomalies.push(anomaly)
      await gate.reportLedgerAnomaly('default', anomaly)
    },
    ...more,
  })
  return { sender, anomalies, sweep: (signal = new AbortController().signal) => sender.sweep(signal) }
}
