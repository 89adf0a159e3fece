import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { isSigned, secretKey } from '../../src/util/webhook-signature.ts'

export const SECRET = 'a-secret-of-the-tests'

const taskMessage = z.strictObject({
  type: z.enum(['task.succeeded', 'task.failed', 'task.canceled']),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    task_id: z.string(),
    type: z.string(),
    status: z.string(),
    error_code: z.string().nullable(),
    created_at: z.iso.datetime(),
    completed_at: z.iso.datetime(),
    session_id: z.string().nullable(),
    labels: z.record(z.string(), z.string()),
    links: z.strictObject({ task: z.string() }),
  }),
})

interface TaskReceiver {
  url: string
  readonly accepted: (z.output<typeof taskMessage> & { readonly id: string })[]
  /** The ids of all requests. */
  readonly ids: string[]
  unsigned: number
  /** The status of the next responses, as long as there are any; then 204. */
  statuses: number[]
}

/** A local receiver of completion webhooks. Messages without a valid signature are refused. */
export async function startTaskReceiver(): Promise<TaskReceiver> {
  const key = secretKey(SECRET)
  const receiver: TaskReceiver = { url: '', accepted: [], ids: [], unsigned: 0, statuses: [] }
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    if (!isSigned(request.headers, body, key, Date.now())) {
      receiver.unsigned++
      response.writeHead(401).end()
      return
    }
    const id = String(request.headers['webhook-id'])
    receiver.ids.push(id)
    const status = receiver.statuses.shift() ?? 204
    if (status < 300) receiver.accepted.push({ ...taskMessage.parse(JSON.parse(body.toString())), id })
    response.writeHead(status).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  receiver.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/done`
  return receiver
}
