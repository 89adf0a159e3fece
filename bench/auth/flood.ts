import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild } from '../child.ts'
import { Connection } from '../http/connection.ts'
import { quantile, times } from '../stats.ts'
import type { MakeKey } from './key.ts'

const FLOOD_CHILD = fileURLToPath(new URL('./flood-child.ts', import.meta.url))
/** More than a round sends. */
const KEYS_PER_ROUND = 5_000
const REQUESTS = 1_000

const CREATE = JSON.stringify({ type: 'flood', payload: { text: 'x'.repeat(100) } })

/** The p99 of requests with a valid key alone, and its ratio while another process tries wrong keys; in turns. */
export async function floodedLatency(port: number, key: string, makeKey: MakeKey, rounds: number) {
  const connection = await Connection.open(port, `Authorization: Bearer ${key}\r\n`)
  const flooder = await startChild(FLOOD_CHILD, [String(port)], process.cwd())
  const create = () => connection.post('/v1/tasks', CREATE)
  const p99 = async () => quantile(await times(REQUESTS, create), 0.99)
  const flooded = async () => {
    await flooder.ask({ keys: Array.from({ length: KEYS_PER_ROUND }, makeKey) })
    await delay(200)
    const latency = await p99()
    rates.push(await flooder.ask({}))
    return latency
  }
  const rates: number[] = []
  const alone: number[] = []
  const ratios: number[] = []
  await p99()
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0
    const [first, second] = [await (isFirst ? p99() : flooded()), await (isFirst ? flooded() : p99())]
    const [before, during] = isFirst ? [first, second] : [second, first]
    alone.push(before)
    ratios.push(during / before)
  }
  connection.close()
  await flooder.stop()
  return { alone, ratios, wrongPerSecond: quantile(rates, 0.5) }
}
