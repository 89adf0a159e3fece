import { Fault, invalid } from '../core/errors.ts'
import type { Json } from '../core/json/json.ts'
import { GATE } from '../core/principal.ts'
import type { Email, EmailContent, Mail } from '../features/email/email.ts'
import { resultContent, resultSubject } from '../features/email/template.ts'
import type { Channel, TaskAbout } from './channel.ts'
import { Meter } from './meter.ts'
import { collect, JSON_TYPE, once, slice, sourceOf } from './payload.ts'
import { checkTaskId, dataOf, notFound } from './pointer.ts'
import { unavailable } from './unavailable.ts'

export interface EmailOptions {
  readonly mail: Mail
  /** The tenant whose results go out by mail. */
  readonly tenant: number
  readonly now?: () => number
}

const MAX_BYTES = 10 * 1024 * 1024

/** Time for the task to be completed with the result, or for the put to be taken back if it cannot be. */
const HOLD_MS = 3_000

/**
 * Results as mails to the agent that the work is done for: `email:MESSAGE_ID`. The mail is for people to read; the
 * result itself is its first attachment, and what we keep of it is what is handed out.
 */
export function emailChannel({ mail, tenant, now = Date.now }: EmailOptions): Channel {
  const name = 'email'
  const limit = Math.min(MAX_BYTES, mail.maxBytes)

  const kept = async <T>(done: Promise<T>): Promise<T> => {
    try {
      return await done
    } catch (error) {
      throw error instanceof Fault ? error : unavailable(name, error)
    }
  }
  const find = (pointer: string) => kept(mail.byMessageId(tenant, dataOf(pointer, name)))

  const recipient = async (about: TaskAbout): Promise<string> => {
    const address = await kept(mail.addressOf(tenant, about.principal_ai))
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
      if (about === undefined) throw invalid('about', 'is needed: it says whom to write to')
      const to = await recipient(about)
      const { content, media_type } = sourceOf(payload, options)
      const meter = new Meter(limit)
      const bytes = await collect(meter.measure(content))
      const checksum = meter.checksum()
      const data = media_type === JSON_TYPE ? jsonIn(bytes) : undefined
      const email = await kept(
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
          // Apart from what the owner sends itself: workers must not use that up.
          limited_by: `results of ${about.owner}`,
          hold_ms: HOLD_MS,
        }),
      )
      return {
        pointer: `${name}:${email.message_id}`,
        channel: name,
        checksum,
        size: bytes.length,
        media_type,
      }
    },
    async get(pointer, { taskId } = {}) {
      const email = await find(pointer)
      // It is still there for people to read, but no longer a result.
      if (email !== undefined && email.archived_at !== null) throw notFound(pointer)
      const content =
        (email && (await kept(mail.content(tenant, email)))) ??
        (await kept(mail.contentElsewhere(dataOf(pointer, name))))
      const [attachment] = content?.attachments ?? []
      if (content === undefined || attachment === undefined || !isOf(taskId, email, content)) {
        throw notFound(pointer)
      }
      if (email !== undefined) await kept(mail.fetched(tenant, email))
      const bytes = Buffer.from(attachment.content, 'base64')
      return { size: bytes.length, read: (part) => slice(once(bytes), part) }
    },
    async ack(pointer, { taskId, reference } = {}) {
      const email = await find(pointer)
      if (email === undefined || (taskId !== undefined && email.task_id !== taskId)) return
      if (reference === undefined) await kept(mail.archive(tenant, email))
      else await kept(mail.takeBack(tenant, email))
    },
    capabilities: () => ({
      max_size_bytes: limit,
      supports_streaming: false,
      supports_attachments: true,
      retention_days: mail.retentionDays,
      human_readable: true,
    }),
  }
}

/** A mail that is only in the mailbox says itself which task it is about. */
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
