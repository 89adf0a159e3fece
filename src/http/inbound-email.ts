import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { readBytes } from './body.ts'
import type { Endpoint } from './endpoint.ts'
import { checkHostAndOrigin } from './guard.ts'

const SETTINGS = ['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_MAIL_WEBHOOK_SECRET']

/**
 * The webhook of email providers. They have no key of this server: the request itself carries the proof. An unwanted
 * email also gets status 200, because a provider delivers it again after any other status.
 */
export const inboundEmail: Endpoint = {
  name: 'inbound_email',
  tag: 'email',
  title: 'Deliver an email',
  description:
    'For email providers: an email as Postmark or SendGrid posts it, or as a raw message. The request is signed as Standard Webhooks (Webhook-Id, Webhook-Timestamp, Webhook-Signature), signed by SendGrid, or has the secret as password or token in the URL. status refused is final.',
  method: 'POST',
  path: '/webhooks/inbound_email',
  isPublic: true,
  body: {
    mediaTypes: {
      'application/json': { type: 'object' },
      'multipart/form-data': { type: 'object' },
      'message/rfc822': { type: 'string' },
    },
  },
  responses: {
    200: {
      description: 'Processed',
      content: z.object({
        status: z.enum(['received', 'duplicate', 'refused']),
        email_id: z.string().optional(),
        reason: z.string().optional().describe('Why the email was refused'),
      }),
    },
  },
  errors: [400, 401, 403, 413, 415, 429, 500, 501, 503],
  async handle({ guard, inboundMail }, exchange) {
    const { request } = exchange
    checkHostAndOrigin(request.headers, guard)
    if (inboundMail === undefined) {
      throw new Fault('NOT_CONFIGURED', { feature: 'inbound email', settings: SETTINGS })
    }
    const { headers } = request
    const query = new URLSearchParams(exchange.query)
    inboundMail.admit({ headers, query })
    const body = await readBytes(request, inboundMail.maxBodyBytes)
    exchange.json(200, await inboundMail.deliver({ headers, query, body }))
  },
}
