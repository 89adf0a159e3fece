import { z } from 'zod'
import type { Output } from '../../output.ts'

/** As much of a mail as is shown here; a newer server may say more. */
export const emailShape = z.looseObject({
  email_id: z.string(),
  direction: z.string(),
  message_id: z.string(),
  from: z.string(),
  to: z.array(z.string()),
  subject: z.string(),
  task_id: z.string().nullable(),
  status: z.string(),
  attempts: z.number(),
  error: z.string().nullable(),
  attachments: z.array(
    z.looseObject({ filename: z.string(), media_type: z.string(), size_bytes: z.number() }),
  ),
  created_at: z.string(),
  next_try_at: z.string().nullable(),
  sent_at: z.string().nullable(),
  delivered_at: z.string().nullable(),
  body: z.unknown().optional(),
})

export type Email = z.output<typeof emailShape>

export function tellEmail(output: Output, email: Email): void {
  const lines: [string, string][] = [
    ['email', email.email_id],
    ['message', email.message_id],
    ['status', `${email.status} (${email.direction})`],
    ['from', email.from],
    ['to', email.to.join(', ')],
    ['subject', email.subject],
    ['task', email.task_id ?? ''],
    ['created', email.created_at],
    ['sent', email.sent_at ?? ''],
    ['delivered', email.delivered_at ?? ''],
    ['tries', email.attempts === 0 ? '' : String(email.attempts)],
    ['next try', email.next_try_at ?? ''],
    ['error', email.error ?? ''],
    ...email.attachments.map(({ filename, media_type, size_bytes }): [string, string] => [
      'attached',
      `${filename} (${media_type}, ${size_bytes} bytes)`,
    ]),
  ]
  for (const [name, value] of lines) if (value !== '') output.say(`${name.padEnd(10)} ${value}`)
  const { body } = email
  if (body === undefined || body === null) return
  output.say()
  output.say(typeof body === 'string' ? body : JSON.stringify(body, null, 2))
}
