import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { isSigned, secretKey } from '../../src/util/webhook-signature.ts'
import { SECRET } from './receiver.ts'

export const billingMessage = z.strictObject({
  type: z.literal('usage.recorded'),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    usage_event_id: z.string(),
    tenant_id: z.string(),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    instance_id: z.string(),
    tasks: z.int(),
    lease_ms: z.int(),
    receipt_bytes: z.int(),
    calls: z.int(),
  }),
})

interface BillingReceiver {
  url: string
  /** Accepted messages, in order, also repeated ones. */
  readonly accepted: z.output<typeof billingMessage>['data'][]
  /** The ids of all requests. */
  readonly ids: string[]
  readonly bodies: string[]
  unsigned: number
  /** The status of the next responses, as long as there are any; then 204. */
  statuses: number[]
  /** Accepts messages, but the response does not arrive. */
  breaksAfterwards: boolean
}

/** A local receiver of usage. Messages without a valid signature are refused. */
export async function startBillingReceiver(): Promise<BillingReceiver> {
  const key = secretKey(SECRET)
  const receiver: BillingReceiver = {
    url: '',
    accepted: [],
    ids: [],
    bodies: [],
    unsigned: 0,
    statuses: [],
    breaksAfterwards: false,
  }
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    if (!isSigned(request.headers, body, key, Date.now())) {
      receiver.unsigned++
      response.writeHead(401).end()
      return
    }
    receiver.ids.push(String(request.headers['webhook-id']))
    receiver.bodies.push(body.toString())
    const status = receiver.statuses.shift() ?? 204
    if (status < 300) receiver.accepted.push(billingMessage.parse(JSON.parse(body.toString())).data)
    if (receiver.breaksAfterwards) response.destroy()
    else response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  receiver.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/usage`
  return receiver
}
