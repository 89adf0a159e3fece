import { z } from 'zod'
import { isAddress } from '../../core/address.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { canonicalWithin, type Json, parseCanonical } from '../../core/json/json.ts'
import { json, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import { type Attachment, EMAIL_DIRECTIONS, EMAIL_STATUSES, type EmailContent } from './email.ts'

/** A header line ends where a control character stands, and another could begin. */
const oneLine = (value: string) => !/\p{Cc}/u.test(value)
const LINE = 'has a line break or another control character'

export const MAX_ATTACHMENTS = 20

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/

const attachment = z.strictObject({
  filename: text(255).refine((name) => oneLine(name) && !/[/\\]/.test(name), 'is not a plain file name'),
  content: z.string().refine((content) => BASE64.test(content), 'is not base64'),
  media_type: text(255)
    .refine((type) => MEDIA_TYPE.test(type), 'is not a media type')
    .optional(),
})

export const sendEmailInput = z.strictObject({
  to: text(254).refine(isAddress, 'is not a plain address like name@example.com'),
  subject: text(500).refine(oneLine, LINE),
  body: json,
  attachments: z.array(attachment).max(MAX_ATTACHMENTS).optional(),
  task_id: taskId.optional(),
  archive_copy: z.boolean().optional(),
  idempotency_key: text(255).optional(),
})

export type SendEmailInput = z.output<typeof sendEmailInput>

/** An id that cannot exist names nothing. */
const emailId = text(64)

export const getEmailInput = z.strictObject({ email_id: emailId, include_content: z.boolean().optional() })

export const retryEmailInput = z.strictObject({ email_id: emailId })

export const listEmailsInput = z.strictObject({
  status: z.enum(EMAIL_STATUSES).optional(),
  direction: z.enum(EMAIL_DIRECTIONS).optional(),
  task_id: taskId.optional(),
  limit: pageLimit,
  cursor: emailId.optional(),
})

export const fetchTaskEmailInput = z.strictObject({
  task_id: taskId,
  include_content: z.boolean().optional(),
})

/** What is to be sent, if it is not too much. */
export function contentOf({ body, attachments = [] }: SendEmailInput, maxBytes: number): EmailContent {
  const content: EmailContent = {
    ...bodyAsText(body, maxBytes),
    attachments: attachments.map(
      ({ filename, content, media_type }): Attachment => ({
        filename,
        media_type: media_type ?? 'application/octet-stream',
        content,
      }),
    ),
  }
  if (sizeOf(content) > maxBytes) {
    throw new Fault('PAYLOAD_TOO_LARGE', { path: 'attachments', limit_bytes: maxBytes })
  }
  return content
}

export function sizeOf({ text, attachments }: EmailContent): number {
  return attachments.reduce(
    (sum, { content }) => sum + Buffer.byteLength(content, 'base64'),
    Buffer.byteLength(text),
  )
}

function bodyAsText(body: Json, maxBytes: number): Pick<EmailContent, 'text' | 'json'> {
  const canonical = canonicalWithin(body, 'body', maxBytes)
  if (typeof body === 'string') {
    if (body.trim() === '') throw invalid('body', 'is empty')
    return { text: body }
  }
  const value = parseCanonical(canonical)
  return { text: JSON.stringify(value, null, 2), json: value }
}
