import { expect, onTestFinished } from 'vitest'
import { ledgerConfirmation } from '../../src/features/receipts/confirmation.ts'
import type { LedgerAnomaly } from '../../src/features/receipts/ledger-anomaly.ts'
import { auditLedger } from '../../src/receiptgate/audit.ts'
import type { Target } from '../../src/receiptgate/canonical.ts'
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
  options: Partial<SenderOptions> & {
    readonly profile?: Profile
    readonly timeoutMs?: number
    readonly forwardsAssigned?: boolean
  } = {},
) {
  const { profile = '1.0', timeoutMs = 20_000, forwardsAssigned = false, ...more } = options
  const anomalies: LedgerAnomaly[] = []
  const sender = new ReceiptSender({
    store,
    tenant: await store.tenant('default'),
    holder: 'a',
    client: receiptGateClient({ url: `${remote.url}/mcp`, token: remote.key, timeoutMs }),
    target: { profile, tenantId: 'default', forwardsAssigned },
    retryMs: 30_000,
    maxTries: 10,
    bufferSize: 10_000,
    breaker: BREAKER,
    waitMs: 5_000,
    log: { warn() {}, error() {} },
    async report(anomaly) {
      anomalies.push(anomaly)
      await gate.reportLedgerAnomaly('default', anomaly)
    },
    ...more,
  })
  return { sender, anomalies, sweep: (signal = new AbortController().signal) => sender.sweep(signal) }
}

/** A sender for whose deliveries the operations of the gate wait. */
export async function confirmingOn(
  bench: Pick<Bench, 'store' | 'gate'>,
  remote: Pick<ReceiptGate, 'url' | 'key'>,
  options: Parameters<typeof senderOn>[2] & { readonly isStrict?: boolean } = {},
) {
  const { isStrict = true, ...more } = options
  const sending = await senderOn(bench, remote, more)
  const { tenant } = await bench.store.tenant('default')
  bench.gate.useConfirmation(
    ledgerConfirmation({
      ...{ tenant, isStrict, delivery: sending.sender.direct, refusedPauseMs: 30_000 },
      forwardsAssigned: options.forwardsAssigned ?? false,
    }),
  )
  onTestFinished(() => sending.sender.stop())
  return sending
}

/** Obligations, states and the shared ledger must agree, and each receipt must have been sent as one text. */
export async function expectAgreement(
  { store }: Pick<Bench, 'store'>,
  remote: ReceiptGate,
  target: Target = { profile: '1.0', tenantId: 'default' },
): Promise<void> {
  const client = receiptGateClient({ url: `${remote.url}/mcp`, token: remote.key, timeoutMs: 20_000 })
  const tenant = await store.tenant('default')
  const { differences } = await auditLedger({ store, tenant, remote: { client, target } })
  expect(differences).toEqual([])
  expect(new Set(remote.storedIds).size).toBe(remote.stored.length)
  const texts = new Map<string, string>()
  for (const { receipt_id, text } of remote.submissions) {
    expect(texts.get(receipt_id) ?? text).toBe(text)
    texts.set(receipt_id, text)
  }
}
