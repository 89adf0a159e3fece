import { Fault, invalid } from '../core/errors.ts'
import type { Json } from '../core/json/json.ts'
import { GATE } from '../core/principal.ts'
import type { Email, EmailContent, Mail } from '../features/email/email.ts'
import { resultContent, resultSubject } from '../features/email/template.ts'
import { type Channel, capable, type TaskAbout } from './channel.ts'
import { collect, JSON_TYPE, Meter, once, slice, sourceOf } from './payload.ts'
import { checkTaskId, dataOf, notFound, orUnavailable } from './pointer.ts'

interface EmailOptions {
  readonly mail: Mail
  /** The tenant whose results are sent by email. */
  readonly tenant: number
  readonly now?: () => number
}

const MAX_BYTES = 10 * 1024 * 1024

/** Delays the email until the task is completed, or the put is undone because it cannot be. */
const HOLD_MS = 3_000

/**
 * Results as emails to the agent that owns the task: `email:MESSAGE_ID`. The text is for people; the result is the first
 * attachment, and the stored copy of it is what clients fetch.
 */
export function emailChannel({ mail, tenant, now = Date.now }: EmailOptions): Channel {
  const name = 'email'
  const limit = Math.min(MAX_BYTES, mail.maxBytes)

  const run = <T>(done: Promise<T>) => orUnavailable(name, done)
  const find = (pointer: string) => run(mail.byMessageId(tenant, dataOf(pointer, name)))

  const recipient = async (about: TaskAbout): Promise<string> => {
    const address = await run(mail.addressOf(tenant, about.principal_ai))
    if (mail.missing.length === 0 && address !== undefined) return address
    throw new Fault('CHANNEL_NOT_CONFIGURED', {
      channel: name,
      ...(mail.missing.length > 0 ? { settings: mail.missing } : { agent: about.principal_ai }),
    })
  }

  return {
    name,
    async put(taskId, payload, options = {}) {
      checkTaskId(taskId)
      const { about } = options
      if (about === undefined) throw invalid('about', 'is required: it names the recipient')
      const to = await recipient(about)
      const { content, media_type } = sourceOf(payload, options)
      const meter = new Meter(limit)
      const bytes = await collect(meter.measure(content))
      const data = media_type === JSON_TYPE ? jsonIn(bytes) : undefined
      const email = await run(
        mail.queue(tenant, {
          from: mail.from,
          to,
          subject: resultSubject(taskId),
          content: resultContent({
            task_id: taskId,
            type: about.type,
            summary: about.summary,
            media_type,
            bytes,
            ...(data !== undefined && { json: data }),
            completed_at: now(),
          }),
          task_id: taskId,
          by: GATE,
          idempotency_key: null,
          archive_copy: true,
          // A limit separate from that of the owner, so that workers do not use it up.
          limited_by: `results of ${about.owner}`,
          hold_ms: HOLD_MS,
        }),
      )
      return { pointer: `${name}:${email.message_id}`, channel: name, ...meter.result(), media_type }
    },
    async get(pointer, { taskId } = {}) {
      const email = await find(pointer)
      // People can still read an archived email, but it is no longer a result.
      if (email !== undefined && email.archived_at !== null) throw notFound(pointer)
      const content =
        (email && (await run(mail.content(tenant, email)))) ??
        (await run(mail.contentElsewhere(dataOf(pointer, name))))
      const [attachment] = content?.attachments ?? []
      if (content === undefined || attachment === undefined || !isOf(taskId, email, content)) {
        throw notFound(pointer)
      }
      if (email !== undefined) await run(mail.fetched(tenant, email))
      const bytes = Buffer.from(attachment.content, 'base64')
      return { size: bytes.length, read: (part) => slice(once(bytes), part) }
    },
    async ack(pointer, { taskId, reference } = {}) {
      const email = await find(pointer)
      if (email === undefined || (taskId !== undefined && email.task_id !== taskId)) return
      if (reference === undefined) await run(mail.archive(tenant, email))
      else await run(mail.takeBack(tenant, email))
    },
    capabilities: capable({
      max_size_bytes: limit,
      supports_attachments: true,
      retention_days: mail.retentionDays,
      human_readable: true,
    }),
  }
}

/** An email that is only in the mailbox names its task in the text. */
function isOf(taskId: string | undefined, email: Email | undefined, content: EmailContent): boolean {
  if (taskId === undefined) return true
  return email === undefined ? content.text.includes(`Task ID: ${taskId}\n`) : email.task_id === taskId
}

function jsonIn(bytes: Buffer): Json | undefined {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
