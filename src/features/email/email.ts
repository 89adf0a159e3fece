import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'

/** Outbound emails have one of the first four statuses; inbound emails are `received`. */
export const EMAIL_STATUSES = ['pending', 'sent', 'delivered', 'failed', 'received'] as const
export type EmailStatus = (typeof EMAIL_STATUSES)[number]

export const EMAIL_DIRECTIONS = ['outbound', 'inbound'] as const
export type EmailDirection = (typeof EMAIL_DIRECTIONS)[number]

/** A stored email without its content. Times are milliseconds since the epoch. */
export interface Email {
  readonly email_id: string
  readonly direction: EmailDirection
  /** Without angle brackets. It never changes, so a duplicate delivery can be detected. */
  readonly message_id: string
  readonly in_reply_to: string | null
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly task_id: string | null
  /** The sender; the server itself for results and for inbound emails. */
  readonly by: PrincipalKey
  /** The recipients that are agents of this server. */
  readonly agents: readonly string[]
  readonly status: EmailStatus
  /** Number of attempts to send it. */
  readonly attempts: number
  /** Why the last attempt failed. */
  readonly error: string | null
  readonly attachments: readonly AttachmentInfo[]
  /** Whether the content stays stored after the email was sent. */
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
  /** Base64. */
  readonly content: string
}

export interface EmailContent {
  readonly text: string
  /** The body as JSON, if it is not plain text. */
  readonly json?: Json
  readonly attachments: readonly Attachment[]
}

/** An email to send. */
export interface EmailDraft {
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly content: EmailContent
  readonly task_id: string | null
  readonly by: PrincipalKey
  /** The same sender and key queue one email only. */
  readonly idempotency_key: string | null
  readonly archive_copy: boolean
  /** The principal whose hourly limit the email counts towards; null if it counts towards none. */
  readonly limited_by: string | null
  /** How long sending is delayed, so that the email can still be withdrawn. */
  readonly hold_ms?: number
}

/** The email accounts of the tenants; a server without email has none. */
export interface TenantMail {
  /** Undefined if the tenant has no account. */
  of(tenant: number): Mail | undefined
}

/** The port to the email account of a tenant. */
export interface Mail {
  /** The settings that are missing for sending; empty if emails can be sent. */
  readonly missing: readonly string[]
  /** Maximum size of an email: text and attachments together. */
  readonly maxBytes: number
  /** How long emails are stored; null means forever. */
  readonly retentionDays: number | null
  /** The sender address of emails that are not sent by an agent with its own address. */
  readonly from: string
  /** Undefined if the agent has no address. */
  addressOf(tenant: number, agent: string): Promise<string | undefined>
  /** The agent with this address; undefined if no agent of this server has it. */
  agentOf(tenant: number, address: string): Promise<string | undefined>
  /** Whether emails to this address are allowed. */
  mayReach(address: string): boolean
  /** Resolves when the email is stored in the queue. */
  queue(tenant: number, draft: EmailDraft): Promise<Email>
  get(tenant: number, emailId: string): Promise<Email | undefined>
  /** Emails with an id above `after`, oldest first. */
  list(tenant: number, direction: EmailDirection, after: string, limit: number): Promise<Email[]>
  /** The emails of a task, oldest first. */
  ofTask(tenant: number, taskId: string): Promise<Email[]>
  /** A sent or received email, by its Message-ID. */
  byMessageId(tenant: number, messageId: string): Promise<Email | undefined>
  /** Undefined if the content is no longer stored. */
  content(tenant: number, email: Email): Promise<EmailContent | undefined>
  /** The content from the IMAP mailbox; undefined if there is no mailbox or it does not contain the email. */
  contentElsewhere(messageId: string): Promise<EmailContent | undefined>
  /** Undoes `queue`, unless sending has started. */
  takeBack(tenant: number, email: Email): Promise<void>
  /** Queues a failed email again; undefined if it has not failed. */
  retry(tenant: number, emailId: string): Promise<Email | undefined>
  /** Marks the email as fetched. */
  fetched(tenant: number, email: Email): Promise<Email>
  /** Removes the email and its content. A copy in the mailbox stays. */
  remove(tenant: number, email: Email): Promise<void>
  /** Moves the email out of the inbox of the mailbox. It stays stored until its retention ends. */
  archive(tenant: number, email: Email): Promise<Email>
}

/** A request of an email provider that delivers an email. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders
  readonly query: URLSearchParams
  readonly body: Buffer
}

export interface DeliveryAnswer {
  /** `refused` is final: the provider should not deliver the email again. */
  readonly status: 'received' | 'duplicate' | 'refused'
  readonly email_id?: string
  readonly reason?: string
}

/** The port that accepts inbound emails from providers. */
export interface InboundMail {
  /** Maximum size of a request body. */
  readonly maxBodyBytes: number
  /** Refuses a request without any credentials before its body is read. */
  admit(delivery: Omit<Delivery, 'body'>): void
  /** Rejects with a Fault if the credentials are wrong or the delivery should be retried. */
  deliver(delivery: Delivery): Promise<DeliveryAnswer>
}
