import type { IncomingMail } from './incoming.ts'
import { messageIdsIn } from './message-id.ts'

/** What a mail server says became of a mail of ours (RFC 3464). */
export interface DeliveryReport {
  readonly message_id: string
  readonly action: 'delivered' | 'failed'
  readonly reason: string
}

/** Undefined if the mail is no report, or one about something that is still under way. */
export function deliveryReport({ attachments }: IncomingMail): DeliveryReport | undefined {
  const text = (...types: string[]) => {
    const found = attachments.find(({ media_type }) => types.includes(media_type))
    return (
      found &&
      Buffer.from(found.content, 'base64')
        .toString('utf8')
        .replace(/\r?\n[ \t]+/g, ' ')
    )
  }
  const status = text('message/delivery-status')
  const original = text('message/rfc822', 'text/rfc822-headers', 'message/rfc822-headers')
  if (status === undefined || original === undefined) return undefined
  const action = field(status, 'Action')?.toLowerCase()
  const [message_id] = messageIdsIn(field(original, 'Message-ID'))
  if (message_id === undefined || (action !== 'delivered' && action !== 'failed')) return undefined
  const reason = field(status, 'Diagnostic-Code') ?? field(status, 'Status') ?? action
  return { message_id, action, reason: reason.slice(0, 500) }
}

function field(headers: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*)$`, 'im').exec(headers)?.[1]?.trim()
}
