import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Databases, type StoreName, urlOf } from '../engine/databases.ts'
import { Connection } from '../http/connection.ts'
import { rest } from '../http/protocols.ts'
import { type ServerProcess, startGate } from '../http/servers.ts'
import type { Turns } from '../paired.ts'
import { type Report, spread } from '../report.ts'
import { median, quantile } from '../stats.ts'

const CONNECTIONS = 8

/** How ReceiptGate fails: nothing listens, or no request is ever answered. */
const FAILURES = ['down', 'slow'] as const
type Failure = (typeof FAILURES)[number]

/** The p99 of requests while ReceiptGate fails, against a server without ReceiptGate, in turns. */
export async function compareOutage(
  report: Report,
  databases: Databases,
  store: StoreName,
  turns: Turns,
): Promise<void> {
  for (const failure of FAILURES) {
    const remote = await startFailing(failure)
    const [first, second] = [await databases.create(store), await databases.create(store)]
    const failing = await startGate(urlOf(first), {
      ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated',
      ASYNCGATE_RECEIPTGATE_ENDPOINT: `http://127.0.0.1:${remote.port}`,
      ASYNCGATE_RECEIPTGATE_AUTH_TOKEN: 'rg_bench',
    })
    const standalone = await startGate(urlOf(second))
    try {
      const latencies = await latenciesInTurns(failing, standalone, turns)
      const ratios = latencies.map(([one, other]) => one / other)
      report.add({
        name: `${store}: p99 of a request while ReceiptGate is ${failure}, against none`,
        value: median(ratios),
        unit: 'x',
        note: `${spread(ratios)}; ${median(latencies.map(([, other]) => other)).toFixed(2)} ms without`,
        target: { atMost: 1.1 },
      })
    } finally {
      await failing.stop()
      await standalone.stop()
      remote.stop()
      for (const database of [first, second]) await database.drop()
    }
  }
}

async function latenciesInTurns(
  one: ServerProcess,
  other: ServerProcess,
  { rounds, seconds }: Turns,
): Promise<(readonly [number, number])[]> {
  const latencies: (readonly [number, number])[] = []
  for (const server of [one, other]) await p99(server, seconds)
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0
    const [first, second] = isFirst ? [one, other] : [other, one]
    const [a, b] = [await p99(first, seconds), await p99(second, seconds)]
    latencies.push(isFirst ? [a, b] : [b, a])
  }
  return latencies
}

/** Creates, claims and completes tasks; returns the p99 of all requests in milliseconds. */
async function p99({ port }: ServerProcess, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000
  const taken = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, i) => {
      const connection = await Connection.open(port)
      const worker = `worker.${i}`
      const latencies: number[] = []
      const timed = async <T>(request: () => Promise<T>): Promise<T> => {
        const startedAt = performance.now()
        const result = await request()
        latencies.push(performance.now() - startedAt)
        return result
      }
      while (performance.now() < end) {
        await timed(() => rest.create(connection, 1))
        const tasks = await timed(() => rest.claim(connection, worker, 1))
        await timed(() => rest.complete(connection, worker, tasks))
      }
      connection.close()
      return latencies
    }),
  )
  return quantile(taken.flat(), 0.99)
}

async function startFailing(failure: Failure): Promise<{ readonly port: number; stop(): void }> {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  if (failure === 'down') stop()
  return { port, stop }
}
