import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'

/** What has become of a mail: the first four of one that goes out, the last of one that came in. */
export const EMAIL_STATUSES = ['pending', 'sent', 'delivered', 'failed', 'received'] as const
export type EmailStatus = (typeof EMAIL_STATUSES)[number]

export const EMAIL_DIRECTIONS = ['outbound', 'inbound'] as const
export type EmailDirection = (typeof EMAIL_DIRECTIONS)[number]

/** A mail as it is kept, without its content. Times are milliseconds since the epoch. */
export interface Email {
  readonly email_id: string
  readonly direction: EmailDirection
  /** Without angle brackets. It never changes, so a mail that arrives twice can be recognised. */
  readonly message_id: string
  readonly in_reply_to: string | null
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly task_id: string | null
  /** Who had it sent; the gate itself for results and for what came in. */
  readonly by: PrincipalKey
  /** The agents of this gate among its recipients. */
  readonly agents: readonly string[]
  readonly status: EmailStatus
  /** How often it was tried to send it. */
  readonly attempts: number
  /** Why the last try failed. */
  readonly error: string | null
  readonly attachments: readonly AttachmentInfo[]
  /** Whether the content is kept once it is sent. */
  readonly archive_copy: boolean
  readonly created_at: number
  readonly next_try_at: number | null
  readonly sent_at: number | null
  readonly delivered_at: number | null
  readonly fetched_at: number | null
  readonly archived_at: number | null
}

export interface AttachmentInfo {
  readonly filename: string
  readonly media_type: string
  readonly size_bytes: number
}

export interface Attachment {
  readonly filename: string
  readonly media_type: string
  /** In base64. */
  readonly content: string
}

export interface EmailContent {
  readonly text: string
  /** The body as data, where it is not just text. */
  readonly json?: Json
  readonly attachments: readonly Attachment[]
}

/** A mail that is to be sent. */
export interface EmailDraft {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly content: EmailContent
  readonly task_id: string | null
  readonly by: PrincipalKey
  /** The same key of the same sender is the same mail, however often it is queued. */
  readonly idempotency_key: string | null
  readonly archive_copy: boolean
  /** Under which name it counts towards the mails of an hour; null: it does not count. */
  readonly limited_by: string | null
  /** How long it is held back, so that it can still be taken back. */
  readonly hold_ms?: number
}

/** The mail of a gate, if it has any. */
export interface Mail {
  /** Why mail cannot be sent: the settings that are missing. Empty if it can. */
  readonly missing: readonly string[]
  /** The largest mail, text and attachments together. */
  readonly maxBytes: number
  /** How long a mail is kept; null: for ever. */
  readonly retentionDays: number | null
  /** Who mails come from that nobody in particular sends. */
  readonly from: string
  /** Undefined if the agent has no address. */
  addressOf(tenant: number, agent: string): Promise<string | undefined>
  /** The agent of an address; undefined if it is none of ours. */
  agentOf(tenant: number, address: string): Promise<string | undefined>
  /** Whether mail may go there. */
  mayReach(address: string): boolean
  /** Resolves when the mail is safe in the queue. */
  queue(tenant: number, draft: EmailDraft): Promise<Email>
  get(tenant: number, emailId: string): Promise<Email | undefined>
  /** Those with an id above `after`, oldest first. */
  list(tenant: number, direction: EmailDirection, after: string, limit: number): Promise<Email[]>
  /** The mails of a task, oldest first. */
  ofTask(tenant: number, taskId: string): Promise<Email[]>
  /** One that we sent or got, by its Message-ID. */
  byMessageId(tenant: number, messageId: string): Promise<Email | undefined>
  /** Undefined if it is no longer kept. */
  content(tenant: number, email: Email): Promise<EmailContent | undefined>
  /** The content as the mailbox has it; undefined if there is none, or no such mail in it. */
  contentElsewhere(messageId: string): Promise<EmailContent | undefined>
  /** Undoes `queue`, unless somebody has begun to send it. */
  takeBack(tenant: number, email: Email): Promise<void>
  /** Sends a failed mail again; undefined if it has not failed. */
  retry(tenant: number, emailId: string): Promise<Email | undefined>
  /** Somebody has read it. */
  fetched(tenant: number, email: Email): Promise<Email>
  /** Nobody needs it any more: it leaves the inbox of the mailbox, and stays here until its time is over. */
  archive(tenant: number, email: Email): Promise<Email>
}

/** A request of somebody who brings mail. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly body: Buffer
}

export interface DeliveryAnswer {
  /** `refused` is final: the same mail is not wanted a second time either. */
  readonly status: 'received' | 'duplicate' | 'refused'
  readonly email_id?: string
  readonly reason?: string
}

/** Takes mail that a provider brings. */
export interface InboundMail {
  /** The largest request. */
  readonly maxBodyBytes: number
  /** Refuses a request that names no proof at all before its body is read. */
  admit(delivery: Omit<Delivery, 'body'>): void
  /** Rejects with a Fault if the proof is wrong, or if it should be tried again. */
  deliver(delivery: Delivery): Promise<DeliveryAnswer>
}
