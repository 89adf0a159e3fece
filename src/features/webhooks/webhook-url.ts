import { z } from 'zod'
import { invalid } from '../../core/errors.ts'
import type { TenantRef } from '../../store/store.ts'
import { text, time } from '../input.ts'

export const webhookUrl = text(2048).refine(isHttpUrl, 'is not an http or https URL without a user name')

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

export const webhookShape = z
  .object({
    url: z.string().describe('Where the message is sent'),
    state: z
      .enum(['waiting', 'pending', 'delivered', 'failed'])
      .describe('waiting: the task has not ended; failed: the message is not sent again'),
    attempts: z.int().describe('Number of attempts so far'),
    next_attempt_at: time.nullable().describe('Time of the next attempt; null if there is none'),
    delivered_at: time
      .nullable()
      .describe('Time at which the receiver accepted the message; null if not yet'),
    error: z.string().nullable().describe('Why the last attempt failed; null if it did not'),
  })
  .optional()
  .describe('The completion webhook; present if the task or its type has one')

/** Refuses a webhook whose messages could not be signed. */
export function checkWebhooks(enabled: ReadonlySet<string>, { name }: Pick<TenantRef, 'name'>): void {
  if (enabled.has(name)) return
  throw invalid('webhook_url', 'needs TASK_WEBHOOK_SECRET on the server; see docs/webhooks.md')
}
