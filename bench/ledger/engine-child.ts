import { openGate } from '../../dist/features/gate.js'
import { LedgerThread } from '../../dist/server/ledger-thread.js'
import { openStore } from '../engine/databases.ts'
import { lifecyclesPerSecond } from '../engine/lifecycle.ts'

/** Measures the engine, one turn per message, with a checkpoint of the log every second or without the log. */
const [mode, name, address = ''] = process.argv.slice(2)
const isLogged = mode === 'logged'
const thread = new LedgerThread(
  name === 'postgres' ? { kind: 'postgres', url: address } : { kind: 'sqlite', path: address },
)
const gate = openGate({
  store: await openStore(name === 'postgres' ? 'postgres' : 'sqlite', address),
  ledgerLog: {
    checkpointSeconds: isLogged ? 1 : 0,
    thread: (tenant, from) => thread.grow(tenant, from),
  },
  onError: (error) => console.error(error),
})

process.on('message', async ({ count, seconds }: { count: number; seconds: number }) => {
  const rate = await lifecyclesPerSecond(gate, count, seconds)
  // What was written in this turn is also hashed in it, and not in that of the other process.
  if (isLogged) await gate.ledgerLogs.extend(await gate.tenant('default'))
  process.send?.(rate)
})
process.on('disconnect', async () => {
  await gate.close()
  await thread.stop()
  process.exit(0)
})
process.send?.('ready')
