import { openGate } from '../../dist/features/gate.js'
import { openStore } from '../engine/databases.ts'
import { BOUND_CALLERS, lifecyclesPerSecond, NAMED_CALLERS } from '../engine/lifecycle.ts'

/**
 * Measures the engine, one turn per message. A bound caller has what the caller of a request with an issued key has: a key,
 * scopes and an origin, and its calls are counted against rate limits.
 */
const [mode, name, address = ''] = process.argv.slice(2)
const isBound = mode === 'bound'
const limit = { calls: 100_000_000, window_seconds: 60 }
const gate = openGate({
  store: await openStore(name === 'postgres' ? 'postgres' : 'sqlite', address),
  sweeping: false,
  onError: (error) => console.error(error),
  ...(isBound && { rateLimits: { isEnabled: true, global: limit, tenant: limit, principal: limit } }),
})
const callers = isBound ? BOUND_CALLERS : NAMED_CALLERS

process.on('message', async ({ count, seconds }: { count: number; seconds: number }) => {
  process.send?.(await lifecyclesPerSecond(gate, count, seconds, ['default'], callers))
})
process.on('disconnect', async () => {
  await gate.close()
  process.exit(0)
})
process.send?.('ready')
