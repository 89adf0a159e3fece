import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

export const SECRET = 'a-secret-of-the-tests'

const approvalData = z.looseObject({ task_id: z.string(), n: z.number(), state: z.string() })

interface MessageOf<Data> {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: Data
}

export type Message = MessageOf<z.output<typeof approvalData>>

/** Verifies a request as the documentation describes: it must be signed and recent. */
function check(headers: Readonly<Record<string, unknown>>, body: string, key: Buffer): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const given = String(signature)
  return (
    given.length === expected.length + 3 && timingSafeEqual(Buffer.from(given), Buffer.from(`v1,${expected}`))
  )
}

/** A local receiver of approvals. */
export function startReceiver(key: Buffer = Buffer.from(SECRET)) {
  return startReceiverOf(approvalData, key)
}

/** A local receiver of messages with this data. */
export async function startReceiverOf<Data>(data: z.ZodType<Data>, key: Buffer = Buffer.from(SECRET)) {
  const messageShape = z.object({ type: z.string(), timestamp: z.string(), data })
  const taken: MessageOf<Data>[] = []
  const refused: string[] = []
  let watchers: (() => void)[] = []
  const receiver = {
    url: '',
    taken,
    refused,
    /** The status of further responses. */
    status: 204,
    /** Resolves when n messages have been received, including refused ones. */
    async until(count: number): Promise<MessageOf<Data>[]> {
      while (taken.length + refused.length < count) {
        await new Promise<void>((resolve) => watchers.push(resolve))
      }
      return taken
    },
  }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const id = String(request.headers['webhook-id'])
    const status = check(request.headers, body, key) ? receiver.status : 401
    if (status < 300) taken.push({ id, ...messageShape.parse(JSON.parse(body)) })
    else refused.push(`${status} ${id}`)
    response.writeHead(status).end()
    for (const watcher of watchers.splice(0)) watcher()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    watchers = []
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  receiver.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/webhook`
  return receiver
}
