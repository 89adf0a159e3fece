import { z } from 'zod'
import { canonical, type Json, parseCanonical } from '../../core/json/json.ts'
import { parseJson } from '../../core/json/text.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import { json, time } from '../input.ts'
import { EMAIL_DIRECTIONS, EMAIL_STATUSES, type Email, type EmailContent } from './email.ts'

export const emailStatusShape = z
  .enum(EMAIL_STATUSES)
  .describe('Outbound: pending, sent, delivered or failed; inbound: received')

const attachmentInfo = z.object({
  filename: z.string().describe('File name'),
  media_type: z.string().describe('Media type'),
  size_bytes: z.int().describe('Size of the decoded content in bytes'),
})

export const emailShape = z.object({
  email_id: z.string().describe('Id of the email'),
  direction: z.enum(EMAIL_DIRECTIONS).describe('Whether this server sent the email or received it'),
  message_id: z.string().describe('Message-ID header, without angle brackets'),
  in_reply_to: z
    .string()
    .nullable()
    .describe('Message-ID of the email that it answers; null if it is no reply'),
  from: z.string().describe('Address of the sender'),
  to: z.array(z.string()).readonly().describe('Addresses of the recipients'),
  subject: z.string().describe('Subject line'),
  task_id: z.string().nullable().describe('The task that the email is about; null if it is about none'),
  status: emailStatusShape,
  attempts: z.int().describe('Number of attempts to send the email'),
  error: z.string().nullable().describe('Why the last attempt to send it failed; null if it did not'),
  attachments: z.array(attachmentInfo).readonly().describe('The attachments, without their content'),
  created_at: time.describe('When the email was queued or received'),
  next_try_at: time.nullable().describe('When the next attempt to send it is due; null if there is none'),
  sent_at: time.nullable().describe('When the SMTP server accepted the email; null if it did not yet'),
  delivered_at: time.nullable().describe('When delivery was confirmed; null if it was not'),
  fetched_at: time.nullable().describe('When the email was first read; null if it was not'),
  archived_at: time.nullable().describe('When the email was archived; null if it was not'),
})

export type EmailView = z.output<typeof emailShape>

export const fullEmailShape = emailShape.extend({
  body: json.describe(
    'JSON if the email carries JSON, otherwise its text; null if the content is no longer stored',
  ),
  attachments: z
    .array(
      attachmentInfo.extend({
        content: z.string().optional().describe('Content in base64; absent if it was not requested'),
      }),
    )
    .readonly()
    .describe('The attachments'),
})

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
): z.output<typeof fullEmailShape> {
  return {
    ...emailView(email),
    body: content === undefined ? null : bodyOf(content),
    attachments: email.attachments.map((info, i) => {
      const bytes = withAttachments ? content?.attachments[i]?.content : undefined
      return { ...info, ...(bytes !== undefined && { content: bytes }) }
    }),
  }
}

/** JSON if the email carries JSON, otherwise the text. A text that only resembles JSON remains a text. */
function bodyOf({ json, text }: EmailContent): Json {
  if (json !== undefined) return json
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return parseCanonical(canonical(parseJson(text)))
  } catch {
    return text
  }
}
