import { hash } from 'node:crypto'
import { isListed } from '../core/address.ts'
import { Fault } from '../core/errors.ts'
import { isUuid, timeId } from '../core/ids.ts'
import type {
  Attachment,
  AttachmentInfo,
  Email,
  EmailContent,
  EmailDraft,
  Mail,
} from '../features/email/email.ts'
import type { Entries } from '../store/entries.ts'
import { cryptoRandom, type Random } from '../util/random.ts'
import { Addresses, AgentNames } from './addresses.ts'
import type { Mailbox } from './imap.ts'
import { parseMime } from './mime.ts'
import { hashOf, KIND, NEW_EMAIL, Records } from './records.ts'
import type { EmailSettings } from './settings.ts'

interface QueueOptions {
  readonly entries: Entries
  readonly settings: EmailSettings
  readonly now?: () => number
  readonly random?: Random
  /** The IMAP mailbox, if one is configured. */
  readonly mailbox?: Pick<Mailbox, 'find' | 'archive'> | undefined
}

/** `holdMs` is the delay before the email is due. */
type QueuedListener = (holdMs: number) => void

/** The maximum number of emails of one task. */
const MAX_OF_TASK = 1000

/**
 * The outbound and inbound emails of a server, in entries of its store. Writes in several steps are ordered so that a crash
 * leaves an email either complete or absent.
 */
export class EmailQueue implements Mail {
  readonly records: Records
  readonly addresses: Addresses
  readonly settings: EmailSettings
  readonly now: () => number
  readonly #names: AgentNames
  readonly #random: Random
  readonly #mailbox: QueueOptions['mailbox']
  #onQueued: QueuedListener = () => {}

  constructor({ entries, settings, mailbox, now = Date.now, random = cryptoRandom() }: QueueOptions) {
    this.#mailbox = mailbox
    this.settings = settings
    this.records = new Records(entries, settings.mail_retention_days)
    this.addresses = new Addresses(settings)
    this.#names = new AgentNames(entries, this.addresses)
    this.now = now
    this.#random = random
  }

  get missing(): readonly string[] {
    return this.settings.smtp === null ? ['ASYNCGATE_SMTP_URL'] : []
  }

  get maxBytes(): number {
    return this.settings.mail_max_bytes
  }

  get retentionDays(): number | null {
    return this.settings.mail_retention_days || null
  }

  get from(): string {
    return this.settings.mail_from
  }

  addressOf(tenant: number, agent: string): Promise<string | undefined> {
    return this.#names.addressOf(tenant, agent)
  }

  agentOf(tenant: number, address: string): Promise<string | undefined> {
    return this.#names.agentOf(tenant, address)
  }

  mayReach(address: string): boolean {
    return this.addresses.agent(address) !== undefined || isListed(this.settings.mail_recipients, address)
  }

  /** Sets the listener for emails that this process queues. */
  onQueued(listener: QueuedListener): void {
    this.#onQueued = listener
  }

  newId(): string {
    return timeId(this.now(), this.#random)
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.#random.unit()
  }

  async queue(tenant: number, draft: EmailDraft): Promise<Email> {
    const email_id = await this.#idFor(tenant, draft)
    const known = await this.get(tenant, email_id)
    if (known !== undefined) return known
    if (draft.limited_by !== null && this.settings.mail_max_per_hour > 0) {
      await this.records.count(tenant, draft.limited_by, this.settings.mail_max_per_hour, this.now())
    }
    const email = this.#pending(email_id, draft, await this.agentOf(tenant, draft.to))
    // The email comes last, because it can be sent as soon as it is stored.
    await this.records.writeContent(tenant, email, draft.content)
    await this.records.attachToTask(tenant, email)
    const written = await this.records.write(tenant, email, 0)
    if (written === undefined) return (await this.get(tenant, email_id)) ?? email
    this.#onQueued(draft.hold_ms ?? 0)
    return email
  }

  async get(tenant: number, emailId: string): Promise<Email | undefined> {
    return (await this.records.find(tenant, emailId))?.email
  }

  list(tenant: number, direction: Email['direction'], after: string, limit: number): Promise<Email[]> {
    return this.records.list(tenant, KIND[direction], after, limit)
  }

  async ofTask(tenant: number, taskId: string): Promise<Email[]> {
    const ids = await this.records.idsOfTask(tenant, taskId, MAX_OF_TASK)
    const emails = await Promise.all(ids.map((id) => this.get(tenant, id)))
    return emails.filter((email) => email !== undefined)
  }

  async byMessageId(tenant: number, messageId: string): Promise<Email | undefined> {
    const own = this.#ownId(messageId)
    const id = own ?? (await this.#foreignId(tenant, messageId))
    const email = id === undefined ? undefined : await this.get(tenant, id)
    // The Message-ID of an inbound email may only resemble one of this server.
    return email?.message_id.toLowerCase() === messageId.toLowerCase() ? email : undefined
  }

  content(tenant: number, email: Email): Promise<EmailContent | undefined> {
    return this.records.content(tenant, email.email_id)
  }

  async contentElsewhere(messageId: string): Promise<EmailContent | undefined> {
    const bytes = await this.#mailbox?.find(messageId)
    if (bytes === undefined) return undefined
    const { text, attachments } = await parseMime(bytes, null)
    return { text, attachments }
  }

  async takeBack(tenant: number, email: Email): Promise<void> {
    const found = await this.records.find(tenant, email.email_id)
    if (found === undefined || found.email.status !== 'pending' || found.email.attempts > 0) return
    // A sender that reads it from now on finds it failed; one that read it before has changed its version.
    const canceled: Email = { ...found.email, status: 'failed', next_try_at: null, error: 'withdrawn' }
    if ((await this.records.write(tenant, canceled, found.version)) === undefined) return
    await this.records.remove(tenant, canceled)
  }

  async retry(tenant: number, emailId: string): Promise<Email | undefined> {
    let again: Email | undefined
    await this.records.change(tenant, emailId, (email) => {
      again =
        email.status === 'failed'
          ? { ...email, status: 'pending', attempts: 0, next_try_at: this.now() }
          : undefined
      return again
    })
    if (again !== undefined) this.#onQueued(0)
    return again
  }

  async fetched(tenant: number, email: Email): Promise<Email> {
    return this.#stamp(tenant, email, 'fetched_at')
  }

  async archive(tenant: number, email: Email): Promise<Email> {
    await this.#mailbox?.archive(email.message_id)
    return this.#stamp(tenant, email, 'archived_at')
  }

  remove(tenant: number, email: Email): Promise<void> {
    return this.records.remove(tenant, email)
  }

  /** Sets a time, unless it is set. */
  async #stamp(tenant: number, email: Email, field: 'fetched_at' | 'archived_at'): Promise<Email> {
    const stamp = (found: Email) => (found[field] === null ? { ...found, [field]: this.now() } : undefined)
    return (await this.records.change(tenant, email.email_id, stamp)) ?? email
  }

  /** The id of an outbound email, from its Message-ID. */
  #ownId(messageId: string): string | undefined {
    const at = messageId.lastIndexOf('@')
    const id = messageId.slice(0, at)
    const isOwn = messageId.slice(at + 1).toLowerCase() === this.settings.mail_domain.toLowerCase()
    return isOwn && isUuid(id) ? id : undefined
  }

  async #foreignId(tenant: number, messageId: string): Promise<string | undefined> {
    const entry = await this.records.entries.get(tenant, KIND.messageId, hashOf(messageId))
    return entry && JSON.parse(entry.value).email_id
  }

  async #idFor(tenant: number, draft: EmailDraft): Promise<string> {
    const email_id = this.newId()
    const { idempotency_key, by, to, subject, content, task_id } = draft
    if (idempotency_key === null) return email_id
    const digest = hash('sha256', JSON.stringify({ to, subject, content, task_id }), 'base64url')
    const name = `${by} ${idempotency_key}`
    const holder = await this.records.reserve(tenant, KIND.key, name, { email_id, digest }, this.now())
    if (holder.digest !== digest) throw new Fault('IDEMPOTENCY_CONFLICT', { idempotency_key })
    return holder.email_id
  }

  #pending(email_id: string, draft: EmailDraft, agent: string | undefined): Email {
    const { from, to, subject, task_id, by, archive_copy, content } = draft
    const now = this.now()
    return {
      ...NEW_EMAIL,
      email_id,
      direction: 'outbound',
      message_id: `${email_id}@${this.settings.mail_domain}`,
      from,
      to: [to],
      subject,
      task_id,
      by,
      agents: agent === undefined ? [] : [agent],
      status: 'pending',
      attachments: content.attachments.map(infoOf),
      archive_copy,
      created_at: now,
      next_try_at: now + (draft.hold_ms ?? 0),
    }
  }
}

export function infoOf({ filename, media_type, content }: Attachment): AttachmentInfo {
  return { filename, media_type, size_bytes: Buffer.byteLength(content, 'base64') }
}
