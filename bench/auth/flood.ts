import { setTimeout as delay } from 'node:timers/promises'
import { Connection } from '../http/connection.ts'
import { spread } from '../report.ts'
import { median, quantile, times } from '../stats.ts'

const WRONG_KEYS_PER_SECOND = 500
const FLOOD_CONNECTIONS = 10
const REQUESTS = 1_000
const ROUNDS = 7

const CREATE = JSON.stringify({ type: 'flood', payload: { text: 'x'.repeat(100) } })

/** The p99 of requests with a valid key, and how it changes while others try wrong ones; the rounds alternate. */
export async function floodedLatency(port: number, key: string) {
  const connection = await Connection.open(port, bearer(key))
  const create = () => connection.post('/v1/tasks', CREATE)
  const p99 = async () => quantile(await times(REQUESTS, create), 0.99)
  await p99()
  const alone: number[] = []
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = await p99()
    const flood = await startFlood(port, key)
    await delay(200)
    const during = await p99()
    await flood.stop()
    alone.push(before)
    ratios.push(during / before)
  }
  connection.close()
  return { p99: median(alone), ratio: median(ratios), note: spread(ratios) }
}

/** Sends keys with the right form and a wrong secret, so that they cannot be told from valid ones by their length. */
async function startFlood(port: number, key: string): Promise<{ stop(): Promise<void> }> {
  const connections = await Promise.all(
    Array.from({ length: FLOOD_CONNECTIONS }, (_, n) => Connection.open(port, bearer(wrong(key, n)))),
  )
  let isStopped = false
  const pause = (1000 * FLOOD_CONNECTIONS) / WRONG_KEYS_PER_SECOND
  const loops = connections.map(async (connection) => {
    while (!isStopped) {
      await Promise.all([connection.post('/v1/tasks', CREATE).catch(() => {}), delay(pause)])
    }
    connection.close()
  })
  return {
    async stop() {
      isStopped = true
      await Promise.all(loops)
    },
  }
}

function wrong(key: string, n: number): string {
  return key.slice(0, -2) + String(n).padStart(2, '0')
}

const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`
