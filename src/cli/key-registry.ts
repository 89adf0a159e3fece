import { Fault } from '../core/errors.ts'
import type { Caller } from '../core/principal.ts'
import { type Gate, openGate } from '../features/gate.ts'
import { localPerson } from '../server/local-key.ts'
import { openStore } from '../server/open-store.ts'
import { retentionOf } from '../server/services.ts'
import { messageOf } from '../util/error-message.ts'
import { CliError, EXIT } from './exit.ts'
import { type Input, type Options, text } from './input.ts'
import { faultRefusal } from './refusal.ts'
import { configOf, SETTINGS_OPTIONS, settingsFlags } from './settings-options.ts'

/** Options of the commands that work on the keys of a database. */
export const REGISTRY_OPTIONS = {
  tenant: text('NAME', 'the tenant; default "default"'),
  ...SETTINGS_OPTIONS,
} as const satisfies Options

/**
 * Works on the database of the settings, whether or not a server is running: a person who can write to the database
 * needs no key.
 */
export async function onDatabase(
  input: Input<keyof typeof REGISTRY_OPTIONS>,
  run: (gate: Gate, caller: Caller) => Promise<void>,
): Promise<void> {
  const config = configOf(input, settingsFlags(input).flags)
  const { database, settings, server } = config
  const store = await openStore(database, { besideServer: true }).catch((error: unknown) => {
    const hint = 'Check ASYNCGATE_DATABASE_URL; "asyncgate doctor" checks more.'
    throw new CliError(EXIT.failure, messageOf(error), hint)
  })
  const ledgerLog = { name: server.ledger_name, signingKey: server.ledger_signing_key ?? undefined }
  const gate = openGate({ store, settings, ledgerLog, retention: retentionOf(config), sweeping: false })
  const tenant = input.text('tenant') ?? 'default'
  try {
    await run(gate, { tenant, principal: { kind: 'human', id: localPerson() }, role: 'admin' })
  } catch (error) {
    throw error instanceof Fault ? faultRefusal(error) : error
  } finally {
    await gate.close()
  }
}
