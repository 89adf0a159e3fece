import { Fault } from '../core/errors.ts'
import type { InboundMail } from '../features/email/email.ts'
import { readBytes } from './body.ts'
import type { Context } from './context.ts'
import { checkHostAndOrigin } from './guard.ts'
import type { Route } from './router.ts'

const SETTINGS = ['ASYNCGATE_MAIL_FROM', 'ASYNCGATE_MAIL_WEBHOOK_SECRET']

/**
 * Where providers bring mail. They have no key of ours: the proof is in the request itself. Mail that is not wanted
 * is answered with 200 too, because anything else makes a provider bring it again.
 */
export function inboundEmailRoute({ guard }: Context, inbound: InboundMail | undefined): Route {
  return {
    method: 'POST',
    path: '/webhooks/inbound_email',
    async handle(exchange) {
      const { request } = exchange
      checkHostAndOrigin(request.headers, guard)
      if (inbound === undefined) {
        throw new Fault('NOT_CONFIGURED', { feature: 'inbound email', settings: SETTINGS })
      }
      const { headers } = request
      const query = new URLSearchParams(exchange.query)
      inbound.admit({ headers, query })
      const body = await readBytes(request, inbound.maxBodyBytes)
      exchange.json(200, await inbound.deliver({ headers, query, body }))
    },
  }
}
