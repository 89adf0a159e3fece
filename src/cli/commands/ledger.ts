import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Config } from '../../config/index.ts'
import type { ReceiptgateConfig } from '../../config/receiptgate.ts'
import { receiptId } from '../../core/ids.ts'
import { DEFAULT_TENANT } from '../../core/principal.ts'
import { Engine } from '../../engine/engine.ts'
import { Archive } from '../../features/retention/archive.ts'
import { auditLedger } from '../../receiptgate/audit.ts'
import { receiptGateClient } from '../../receiptgate/client.ts'
import { exportReceipts } from '../../receiptgate/export.ts'
import { ImportError, importReceipts } from '../../receiptgate/import.ts'
import { egressOf } from '../../server/egress.ts'
import { openStore } from '../../server/open-store.ts'
import { retentionOf } from '../../server/services.ts'
import type { Store, TenantRef } from '../../store/store.ts'
import { messageOf } from '../../util/error-message.ts'
import { command } from '../command.ts'
import { CliError, EXIT } from '../exit.ts'
import { flag, type Input, text } from '../input.ts'
import { configOf, SETTINGS_OPTIONS, settingsFlags } from '../settings-options.ts'
import { rebuild } from './ledger-rebuild.ts'

const MAX_SHOWN = 100

type SettingsInput = Input<keyof typeof SETTINGS_OPTIONS>

interface Ledger {
  readonly config: Config
  readonly store: Store
  readonly tenant: TenantRef
}

/** Works on the database of the settings, whether or not a server is running. */
async function onLedger<T>(input: SettingsInput, run: (ledger: Ledger) => Promise<T>): Promise<T> {
  const config = configOf(input, settingsFlags(input).flags)
  const store = await openStore(config.database, { besideServer: true }).catch((error: unknown) => {
    const hint = 'Check ASYNCGATE_DATABASE_URL; "asyncgate doctor" checks more.'
    throw new CliError(EXIT.failure, messageOf(error), hint)
  })
  try {
    return await run({ config, store, tenant: await store.tenant(DEFAULT_TENANT) })
  } finally {
    await store.close()
  }
}

async function knownTenant(store: Store, name: string): Promise<TenantRef> {
  const tenant = (await store.tenants()).find((each) => each.name === name)
  if (tenant === undefined) throw new CliError(EXIT.notFound, `There is no tenant "${name}".`)
  return tenant
}

/** The ReceiptGate of the settings. */
function receiptGateOf({ receiptgate, server }: Config) {
  if (receiptgate === null) {
    const hint = 'Set ASYNCGATE_RECEIPT_MODE=receiptgate_integrated and ASYNCGATE_RECEIPTGATE_ENDPOINT.'
    throw new CliError(EXIT.usage, 'The settings name no ReceiptGate.', hint)
  }
  const client = receiptGateClient({ ...receiptgate, egress: egressOf(server) })
  return { ...receiptgate, client, target: targetOf(receiptgate) }
}

function targetOf(receiptgate: ReceiptgateConfig | null) {
  const { profile = '1.0', tenantId = 'default', forwardsAssigned = false } = receiptgate ?? {}
  return { profile, tenantId, forwardsAssigned } as const
}

const status = command({
  name: 'ledger status',
  summary: 'Show how many receipts wait for ReceiptGate, and which were set aside.',
  options: SETTINGS_OPTIONS,
  run: (input, output) =>
    onLedger(input, async ({ store, tenant: { tenant, salt } }) => {
      const counts = await store.outbox.counts(tenant, Number.MAX_SAFE_INTEGER)
      const rows = await store.outbox.setAside(tenant, 0, MAX_SHOWN)
      const receipts = rows.map(({ seq, task_id, tries, reason }) => ({
        ...{ receipt_id: receiptId(salt, seq), task_id, tries, reason },
      }))
      output.result({ ...counts, receipts }, () => {
        output.print(`Waiting: ${counts.pending}. Set aside: ${counts.set_aside}.`)
        if (receipts.length === 0) return
        output.table(
          ['RECEIPT', 'TASK', 'TRIES', 'REASON'],
          receipts.map(({ receipt_id, task_id, tries, reason }) => [receipt_id, task_id, tries, reason]),
        )
      })
    }),
})

const requeue = command({
  name: 'ledger requeue',
  summary: 'Send receipts that were set aside again. It works on the database, with or without a server.',
  options: {
    render: flag('render them again, after the profile has changed or an upgrade has repaired them'),
    ...SETTINGS_OPTIONS,
  },
  run: (input, output) =>
    onLedger(input, async ({ store, tenant }) => {
      const requeued = await store.outbox.requeue(tenant.tenant, input.flag('render'))
      output.result({ requeued }, () => output.print(`Receipts that are sent again: ${requeued}.`))
    }),
})

const exporting = command({
  name: 'ledger export',
  summary: 'Print all receipts as lines of JSON, each with its form in the shared ledger.',
  options: { tenant: text('NAME', 'the tenant; default "default"'), ...SETTINGS_OPTIONS },
  run: (input) =>
    onLedger(input, async ({ config, store }) => {
      const tenant = await knownTenant(store, input.text('tenant') ?? DEFAULT_TENANT)
      const archive = new Archive(new Engine({ store }), retentionOf(config).archive)
      for await (const line of exportReceipts({ store, archive }, tenant, targetOf(config.receiptgate))) {
        if (process.stdout.write(`${JSON.stringify(line)}\n`)) continue
        await new Promise((resolve) => process.stdout.once('drain', resolve))
      }
    }),
})

const importing = command({
  name: 'ledger import',
  summary: 'Send the receipts of an export to ReceiptGate. Repeating it is safe.',
  takes: ['FILE'],
  options: SETTINGS_OPTIONS,
  async run(input, output) {
    const { client, retryMs, maxTries } = receiptGateOf(configOf(input, settingsFlags(input).flags))
    const lines = createInterface({
      input: createReadStream(input.arg(0)),
      crlfDelay: Number.POSITIVE_INFINITY,
    })
    const imported = await importReceipts(lines, client, { retryMs, maxTries }).catch((error: unknown) => {
      const code = error instanceof ImportError ? EXIT.usage : EXIT.failure
      throw new CliError(code, messageOf(error), 'Repeat the command: it continues where it stopped.')
    })
    const { accepted, skipped, rejected } = imported
    output.result(imported, () => {
      output.print(`${accepted} accepted, ${skipped} without a counterpart, ${rejected.length} rejected.`)
      if (rejected.length === 0) return
      output.table(
        ['RECEIPT', 'REASON'],
        rejected.map(({ receipt_id, reason }) => [receipt_id, reason]),
      )
    })
    return rejected.length === 0 ? EXIT.ok : EXIT.failure
  },
})

const audit = command({
  name: 'ledger audit',
  summary: 'Compare tasks, receipts and obligations, and name the differences.',
  options: {
    remote: flag('also compare with the receipts in ReceiptGate: one request for each task'),
    ...SETTINGS_OPTIONS,
  },
  run: (input, output) =>
    onLedger(input, async ({ config, store, tenant }) => {
      const remote = input.flag('remote') ? receiptGateOf(config) : undefined
      const found = await auditLedger({ store, tenant, remote })
      const { receipts, tasks, differences } = found
      output.result(found, () => {
        output.print(`${tasks} tasks and ${receipts} receipts: ${differences.length} differences.`)
        if (differences.length === 0) return
        output.table(
          ['TASK', 'DIFFERENCE'],
          differences.map(({ task_id, difference }) => [task_id, difference]),
        )
      })
      return differences.length === 0 ? EXIT.ok : EXIT.failure
    }),
})

export const commands = [status, requeue, exporting, importing, audit, rebuild]
