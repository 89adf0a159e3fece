import { z } from 'zod'
import { canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import { parseJson } from '../../core/json/text.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { json } from '../input.ts'
import { EMAIL_DIRECTIONS, EMAIL_STATUSES, type Email, type EmailContent } from './email.ts'

const time = z.iso.datetime()

const attachmentInfo = z.object({ filename: z.string(), media_type: z.string(), size_bytes: z.int() })

export const emailShape = z.object({
  email_id: z.string(),
  direction: z.enum(EMAIL_DIRECTIONS),
  message_id: z.string(),
  in_reply_to: z.string().nullable(),
  from: z.string(),
  to: z.array(z.string()).readonly(),
  subject: z.string(),
  task_id: z.string().nullable(),
  status: z.enum(EMAIL_STATUSES),
  attempts: z.int(),
  error: z.string().nullable().meta({ description: 'Why the last try to send it failed' }),
  attachments: z.array(attachmentInfo).readonly(),
  created_at: time,
  next_try_at: time.nullable(),
  sent_at: time.nullable(),
  delivered_at: time.nullable(),
  fetched_at: time.nullable(),
  archived_at: time.nullable(),
})

export const fullEmailShape = emailShape.extend({
  body: json.meta({ description: 'JSON where the mail carries JSON, else its text; null if no longer kept' }),
  attachments: z
    .array(attachmentInfo.extend({ content: z.string().optional().meta({ description: 'Base64' }) }))
    .readonly(),
})

export type EmailView = z.output<typeof emailShape>
export type FullEmailView = z.output<typeof fullEmailShape>

export function emailView(email: Email): EmailView {
  const { agents: _, by: __, archive_copy: ___, ...rest } = email
  return {
    ...rest,
    created_at: isoTime(email.created_at),
    next_try_at: isoOrNull(email.next_try_at),
    sent_at: isoOrNull(email.sent_at),
    delivered_at: isoOrNull(email.delivered_at),
    fetched_at: isoOrNull(email.fetched_at),
    archived_at: isoOrNull(email.archived_at),
  }
}

export function fullEmailView(
  email: Email,
  content: EmailContent | undefined,
  withAttachments: boolean,
): FullEmailView {
  return {
    ...emailView(email),
    body: content === undefined ? null : bodyOf(content),
    attachments: email.attachments.map((info, i) => {
      const bytes = withAttachments ? content?.attachments[i]?.content : undefined
      return { ...info, ...(bytes !== undefined && { content: bytes }) }
    }),
  }
}

/** JSON if the mail has some, and the text otherwise. A text that only looks like JSON stays a text. */
export function bodyOf({ json, text }: EmailContent): Json {
  if (json !== undefined) return json
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return parseCanonical(canonical(parseJson(text)))
  } catch {
    return text
  }
}
