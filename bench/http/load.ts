import { Connection } from './connection.ts'
import type { Protocol } from './protocols.ts'

/** Each connection creates, claims and completes `perRequest` tasks at a time; returns lifecycles per second. */
export async function lifecyclesOverHttp(
  protocol: Protocol,
  port: number,
  connections: number,
  perRequest: number,
  seconds: number,
  key?: string,
): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  const headers = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const counts = await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      const connection = await Connection.open(port, headers)
      let count = 0
      while (performance.now() < end) {
        await protocol.create(connection, perRequest)
        const taken = await protocol.claim(connection, `worker.${i}`, perRequest)
        await protocol.complete(connection, `worker.${i}`, taken)
        count += taken.length
      }
      connection.close()
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - start) / 1000)
}

/** Requests per second of a server that only parses and responds. */
export async function requestsPerSecond(port: number, connections: number, seconds: number): Promise<number> {
  const start = performance.now()
  const end = start + seconds * 1000
  const body = JSON.stringify({ worker_id: 'worker.1', task_id: 'x'.repeat(36), lease_id: 'x'.repeat(36) })
  const counts = await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await Connection.open(port)
      let count = 0
      while (performance.now() < end) {
        JSON.parse(await connection.post('/echo', body))
        count++
      }
      connection.close()
      return count
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - start) / 1000)
}
