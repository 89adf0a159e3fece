import { Connection } from '../http/connection.ts'
import { rest } from '../http/protocols.ts'

/** The number of tasks, and how many of them are warm-up. */
export interface Amount {
  readonly count: number
  readonly warmUp: number
}

/** Fills the queue with requests of 1,000 tasks. */
export async function fill(port: number, count: number): Promise<void> {
  const connection = await Connection.open(port)
  for (let left = count; left > 0; left -= 1000) await rest.create(connection, Math.min(left, 1000))
  connection.close()
}

/**
 * Claims and completes `perRequest` tasks at a time with raw requests until the queue is empty. Returns tasks per
 * second, counted after the first `warmUp` tasks.
 */
export async function drainRaw(
  port: number,
  { count, warmUp }: Amount,
  connections: number,
  perRequest: number,
): Promise<number> {
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)))
  let done = 0
  let startedAt = 0
  let doneBefore = 0
  await Promise.all(
    opened.map(async (connection, i) => {
      while (done < count) {
        const taken = await rest.claim(connection, `raw.${i}`, perRequest)
        await rest.complete(connection, `raw.${i}`, taken)
        done += taken.length
        if (startedAt === 0 && done >= warmUp) {
          startedAt = performance.now()
          doneBefore = done
        }
      }
    }),
  )
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of opened) connection.close()
  return (count - doneBefore) / seconds
}

/** The milliseconds from create to the response of a waiting claim. */
export async function pickUpRaw(claimer: Connection, creator: Connection): Promise<number> {
  const claimed = claimer.post('/v1/leases/claim', JSON.stringify({ worker_id: 'raw', wait_seconds: 30 }))
  await settle()
  const startedAt = performance.now()
  await rest.create(creator, 1)
  const { tasks } = JSON.parse(await claimed)
  const ms = performance.now() - startedAt
  await rest.complete(claimer, 'raw', tasks)
  return ms
}

/** Waits until a claim has reached the server. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 30))
}
