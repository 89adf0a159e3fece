import { openGateOn } from '../engine/databases.ts'
import { lifecyclesPerSecond } from '../engine/lifecycle.ts'

/** One server of several on a PostgreSQL database: runs each load that it is sent and replies with lifecycles per second. */
export interface Load {
  readonly tenant: string
  readonly callers: number
  readonly seconds: number
}

const gate = await openGateOn({ name: 'postgres', address: process.argv[2] ?? '' })

process.on('message', async ({ tenant, callers, seconds }: Load) => {
  const rate = await lifecyclesPerSecond(gate, callers, seconds, [tenant])
  process.send?.(rate)
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
