import { z } from 'zod'
import { isAddress } from '../../core/address.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { canonicalWithin, type Json, parseCanonical } from '../../core/json/json.ts'
import { principalKey } from '../../core/principal.ts'
import { defineOperation, WRITES } from '../define-operation.ts'
import { json, taskId, text } from '../input.ts'
import { readableTask } from '../tasks/read-task.ts'
import type { EmailContent } from './email.ts'
import { sendingMail, storing } from './get-email.ts'
import { emailStatusShape } from './shape.ts'

/** A control character could end a header line and start another header. */
const oneLine = (value: string) => !/\p{Cc}/u.test(value)

const MAX_ATTACHMENTS = 20

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}$/

const attachment = z.strictObject({
  filename: text(255)
    .refine((name) => oneLine(name) && !/[/\\]/.test(name), 'is not a plain file name')
    .describe('File name without folders'),
  content: z
    .string()
    .refine((content) => BASE64.test(content), 'is not base64')
    .describe('Content in base64'),
  media_type: text(255)
    .refine((type) => MEDIA_TYPE.test(type), 'is not a media type')
    .optional()
    .describe('Media type; application/octet-stream if absent'),
})

const input = z.strictObject({
  to: text(254)
    .refine(isAddress, 'is not a plain address like name@example.com')
    .describe('Address of an agent of this server, or an address that the operator allows'),
  subject: text(500)
    .refine(oneLine, 'has a line break or another control character')
    .describe('Subject line, without line breaks'),
  body: json.describe('Text, or any JSON value'),
  attachments: z
    .array(attachment)
    .max(MAX_ATTACHMENTS)
    .optional()
    .describe('Files to attach, each with filename, content in base64 and optionally media_type'),
  task_id: taskId.optional().describe('The task that the email is about'),
  archive_copy: z
    .boolean()
    .optional()
    .describe('Whether the content stays stored after the email was sent; true if absent'),
  idempotency_key: text(255)
    .optional()
    .describe('A request with the same key and the same sender queues no second email'),
})

export const sendEmail = defineOperation({
  name: 'send_email',
  title: 'Send an email',
  description:
    'Sends an email to another agent of this server, or to an address that the operator allows. The email is queued durably and the call returns immediately; sending is retried if the SMTP server does not accept it. ' +
    'Check its status later with get_email. Use an idempotency_key so that a repeated request never sends two emails.',
  input,
  output: z.object({
    email_id: z.string().describe('Id of the queued email'),
    message_id: z.string().describe('Message-ID header of the email, without angle brackets'),
    status: emailStatusShape,
  }),
  actor: 'agent',
  access: 'create',
  rest: { method: 'POST', path: '/v1/emails' },
  effect: WRITES,
  repeat: 'idempotent with an `idempotency_key`',
  example: {
    principal_id: 'hexy',
    to: 'gate+kee@agents.example',
    subject: 'Code Review Complete',
    body: { verdict: 'fine' },
    idempotency_key: 'review-1',
  },
  async run({ engine, mail: configured }, caller, asked) {
    const ref = await engine.tenant(caller.tenant)
    const mail = sendingMail(configured, ref)
    const { tenant } = ref
    if (!mail.mayReach(asked.to)) throw new Fault('RECIPIENT_NOT_ALLOWED', { to: asked.to })
    if (asked.task_id !== undefined) await readableTask(engine, caller, asked.task_id)
    const { kind, id } = caller.principal
    const email = await storing(engine, async () =>
      mail.queue(tenant, {
        from: (kind === 'agent' ? await mail.addressOf(tenant, id) : undefined) ?? mail.from,
        to: asked.to,
        subject: asked.subject,
        content: contentOf(asked, mail.maxBytes),
        task_id: asked.task_id ?? null,
        by: principalKey(caller.principal),
        idempotency_key: asked.idempotency_key ?? null,
        archive_copy: asked.archive_copy ?? true,
        limited_by: principalKey(caller.principal),
      }),
    )
    return { email_id: email.email_id, message_id: email.message_id, status: email.status }
  },
})

function contentOf({ body, attachments = [] }: z.output<typeof input>, maxBytes: number): EmailContent {
  const content: EmailContent = {
    ...bodyAsText(body, maxBytes),
    attachments: attachments.map(({ filename, content, media_type }) => ({
      filename,
      media_type: media_type ?? 'application/octet-stream',
      content,
    })),
  }
  if (sizeOf(content) > maxBytes) {
    throw new Fault('PAYLOAD_TOO_LARGE', { path: 'attachments', limit_bytes: maxBytes })
  }
  return content
}

/** Size of the text and the decoded attachments in bytes. */
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
