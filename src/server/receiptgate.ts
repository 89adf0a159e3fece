import { randomUUID } from 'node:crypto'
import type { Config } from '../config/index.ts'
import type { ReceiptgateConfig } from '../config/receiptgate.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import { ledgerConfirmation } from '../features/receipts/confirmation.ts'
import type { LedgerAnomaly } from '../features/receipts/ledger-anomaly.ts'
import type { RemoteCompletion } from '../features/receipts/reconcile.ts'
import type { SharedLedger } from '../features/receipts/shared-ledger.ts'
import type { Logger } from '../http/log.ts'
import type { ReceiptGateClient } from '../receiptgate/client.ts'
import type { ReceiptSender } from '../receiptgate/sender.ts'
import type { Store } from '../store/store.ts'
import { egressOf } from './egress.ts'

/** Larger backlogs are reported as this number. */
const MAX_COUNTED = 1_000_000

/** The ReceiptGate of the settings, for the operations that describe it; undefined if there is none. */
export function sharedLedgerOf(config: ReceiptgateConfig | null, store: Store): SharedLedger | undefined {
  if (config === null) return undefined
  return {
    endpoint: config.url,
    profile: config.profile,
    async lag() {
      const { tenant } = await store.tenant(DEFAULT_TENANT)
      return store.outbox.counts(tenant, MAX_COUNTED)
    },
  }
}

/** Sends receipts to the ReceiptGate of the settings. It sends nothing before it is woken. */
export async function openReceiptSender(
  { receiptgate, server }: Config,
  gate: Gate,
  store: Store,
  log: Logger,
): Promise<ReceiptSender | undefined> {
  if (receiptgate === null) return undefined
  const [{ ReceiptSender }, { Reconciler }, { receiptGateClient }, { forwardedTypes }] = await Promise.all([
    import('../receiptgate/sender.ts'),
    import('../receiptgate/reconciler.ts'),
    import('../receiptgate/client.ts'),
    import('../receiptgate/canonical.ts'),
  ])
  const { profile, tenantId, forwardsAssigned, waits, waitMs } = receiptgate
  const { retryMs, maxTries, bufferSize, breaker } = receiptgate
  const target = { profile, tenantId, forwardsAssigned }
  const tenant = await store.tenant(DEFAULT_TENANT)
  const client = counted(receiptGateClient({ ...receiptgate, egress: egressOf(server) }), gate)
  const report = (anomaly: LedgerAnomaly) => gate.reportLedgerAnomaly(DEFAULT_TENANT, anomaly)
  const reconcile = (completion: RemoteCompletion) => gate.reconcileTask(DEFAULT_TENANT, completion)
  const intervalMs = receiptgate.reconcileMs
  const sender = new ReceiptSender({
    reconciler:
      intervalMs === 0
        ? undefined
        : new Reconciler({ ...{ store, tenant, client, target, intervalMs, reconcile, report } }),
    ...{ store, log, client, report, tenant, target, retryMs, maxTries, bufferSize, breaker, waitMs },
    holder: randomUUID(),
  })
  if (waits !== 'never') {
    const isStrict = waits === 'always'
    const delivery = sender.direct
    gate.useConfirmation(
      ledgerConfirmation({
        ...{ delivery, isStrict, forwardsAssigned, tenant: tenant.tenant, refusedPauseMs: retryMs },
      }),
    )
  }
  const types = forwardedTypes(target)
  gate.onCommit(({ receipts }) => {
    if (receipts.some(({ receipt_type }) => types.has(receipt_type))) sender.wake()
  })
  return sender
}

/** The client, whose requests that send a receipt are counted. */
function counted(client: ReceiptGateClient, gate: Pick<Gate, 'ledgerEmissions'>): ReceiptGateClient {
  return {
    ...client,
    async submit(...given) {
      const startedAt = performance.now()
      const delivery = await client.submit(...given)
      const seconds = (performance.now() - startedAt) / 1000
      gate.ledgerEmissions.count({ outcome: delivery.kind, seconds })
      return delivery
    },
  }
}
