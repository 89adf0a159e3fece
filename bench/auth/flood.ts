import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from '../http/connection.ts'
import { quantile, times } from '../stats.ts'
import type { MakeKey } from './key.ts'

const WRONG_KEYS_PER_SECOND = 500
const FLOOD_CONNECTIONS = 10
const REQUESTS = 1_000

const CREATE = JSON.stringify({ type: 'flood', payload: { text: 'x'.repeat(100) } })

/** The p99 of requests with a valid key alone, and its ratio while another client tries wrong keys; in turns. */
export async function floodedLatency(port: number, key: string, makeKey: MakeKey, rounds: number) {
  const connection = await Connection.open(port, bearer(key))
  const create = () => connection.post('/v1/tasks', CREATE)
  const p99 = async () => quantile(await times(REQUESTS, create), 0.99)
  const flooded = async () => {
    const flood = startFlood(port, makeKey)
    await delay(200)
    const latency = await p99()
    rates.push(await flood.stop())
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
  return { alone, ratios, wrongPerSecond: quantile(rates, 0.5) }
}

/** Sends wrong keys until it is stopped, which resolves with the number of refused requests per second. */
function startFlood(port: number, makeKey: MakeKey): { stop(): Promise<number> } {
  const pause = (1000 * FLOOD_CONNECTIONS) / WRONG_KEYS_PER_SECOND
  const startedAt = performance.now()
  let isStopped = false
  let refused = 0
  const client = async () => {
    let connection: Connection | undefined
    while (!isStopped) {
      const next = delay(pause)
      // The server closes the connection of a request that it refuses before it has read the body.
      connection = connection?.isOpen ? connection : await Connection.open(port)
      const response = connection.post('/v1/tasks', CREATE, bearer(makeKey()))
      await response.then(
        () => {
          throw new Error('the server accepted a wrong key')
        },
        () => refused++,
      )
      await next
    }
    connection?.close()
  }
  const clients = Promise.all(Array.from({ length: FLOOD_CONNECTIONS }, client))
  return {
    async stop() {
      isStopped = true
      await clients
      return (refused * 1000) / (performance.now() - startedAt)
    },
  }
}

const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`
