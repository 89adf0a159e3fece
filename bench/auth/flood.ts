import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from '../http/connection.ts'
import { quantile, times } from '../stats.ts'
import type { MakeKey } from './key.ts'

const WRONG_KEYS_PER_SECOND = 500
const TICK_MS = 4
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

/**
 * Sends wrong keys at a fixed rate, whether or not the server has answered the earlier ones, until it is stopped. That
 * resolves with the number of requests sent per second.
 */
function startFlood(port: number, makeKey: MakeKey): { stop(): Promise<number> } {
  const idle: Connection[] = []
  const unanswered = new Set<Promise<void>>()
  const startedAt = performance.now()
  let sent = 0
  let accepted = 0
  const send = async () => {
    const connection = idle.pop() ?? (await Connection.open(port))
    await connection.post('/v1/tasks', CREATE, bearer(makeKey())).then(
      () => accepted++,
      () => {},
    )
    // The server closes the connection of a request that it refuses before it has read the body.
    if (connection.isOpen) idle.push(connection)
    else connection.close()
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) * WRONG_KEYS_PER_SECOND) / 1000
    for (; sent < due; sent++) {
      const request = send().finally(() => unanswered.delete(request))
      unanswered.add(request)
    }
  }, TICK_MS)
  return {
    async stop() {
      clearInterval(timer)
      const rate = (sent * 1000) / (performance.now() - startedAt)
      await Promise.all(unanswered)
      for (const connection of idle) connection.close()
      if (accepted > 0) throw new Error('the server accepted a wrong key')
      return rate
    },
  }
}

const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`
