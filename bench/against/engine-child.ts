import { pathToFileURL } from 'node:url'
import type { openGateOn } from '../engine/databases.ts'
import { lifecyclesPerSecond } from '../engine/lifecycle.ts'

/** Measures the engine of the version in the given folder, one slice per message. */
const [folder, name, address] = process.argv.slice(2)
const load = (path: string): Promise<unknown> => import(pathToFileURL(`${folder}/bench/engine/${path}`).href)
const databases = (await load('databases.ts')) as { openGateOn: typeof openGateOn }
const gate = await databases.openGateOn({
  name: name === 'postgres' ? 'postgres' : 'sqlite',
  address: address ?? '',
})

process.on('message', async ({ callers, seconds }: { callers: number; seconds: number }) => {
  const rate = await lifecyclesPerSecond(gate, callers, seconds)
  process.send?.(rate)
})
process.on('disconnect', async () => {
  await gate.close()
  process.exit(0)
})
process.send?.('ready')
