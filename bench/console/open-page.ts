import { setTimeout as delay } from 'node:timers/promises'
import type { Row } from '../report.ts'
import { get, post, send } from './requests.ts'

const SECONDS = 20
const REPORTS_PER_SECOND = 2
const MAX_BYTES_PER_SECOND = 5_000

/** What the server sends to the open page of a task whose worker reports progress. */
export async function openPageCost(store: string, port: number): Promise<Row> {
  const { task_id } = await post(port, '/v1/tasks', { principal_id: 'viewer', type: 'watched' })
  const claimed = await post(port, '/v1/leases/claim', { worker_id: 'w1', accept_types: ['watched'] })
  const lease = Array.isArray(claimed.tasks) ? claimed.tasks[0] : undefined
  if (lease === undefined) throw new Error('the task cannot be claimed')
  const held = { worker_id: 'w1', task_id, lease_id: lease.lease_id }
  const page = await get(port, `/console/tasks/${task_id}`)
  const events = /data-events="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const stream = await send(port, 'GET', events)
  let bytes = 0
  stream.on('data', (part: Buffer) => {
    bytes += part.length
  })
  for (let n = 0; n < SECONDS * REPORTS_PER_SECOND; n++) {
    const progress = { percent: n, message: `working on part ${n}` }
    await post(port, `/v1/tasks/${task_id}/progress`, { ...held, progress })
    await delay(1000 / REPORTS_PER_SECOND)
  }
  stream.destroy()
  return {
    name: `${store}: open page of a task with ${REPORTS_PER_SECOND} reports per second`,
    value: bytes / SECONDS,
    unit: 'bytes/s',
    target: { atMost: MAX_BYTES_PER_SECOND },
  }
}
