import { isListed } from '../core/address.ts'
import { Fault } from '../core/errors.ts'
import { isUuid, taskId } from '../core/ids.ts'
import type {
  Attachment,
  AttachmentInfo,
  Email,
  EmailContent,
  EmailDraft,
  Mail,
} from '../features/email/email.ts'
import type { Entries } from '../store/entries.ts'
import type { Random } from '../util/random.ts'
import { cryptoRandom } from '../util/random.ts'
import { Addresses } from './addresses.ts'
import { AgentNames } from './agent-names.ts'
import type { Mailbox } from './imap.ts'
import { countMail, digestOf, reserve } from './keys.ts'
import { hashOf } from './message-id.ts'
import { parseMime } from './mime.ts'
import { KIND, Records, Retention } from './records.ts'
import type { MailSettings } from './settings.ts'

interface QueueOptions {
  readonly entries: Entries
  readonly settings: MailSettings
  readonly now?: () => number
  readonly draw?: Random
  /** Where mails also are. */
  readonly mailbox?: Pick<Mailbox, 'find' | 'archive'> | undefined
}

/** `holdMs`: when it is due. */
type QueuedListener = (tenant: number, holdMs: number) => void

/** More mails of one task are not looked at. */
const MAX_OF_TASK = 1000

/**
 * The mails of a gate, going out and coming in, in entries of its store. Whatever is written here in several steps
 * is written so that a crash between them leaves a mail that is either whole or not there.
 */
export class MailQueue implements Mail {
  readonly records: Records
  readonly addresses: Addresses
  readonly settings: MailSettings
  readonly now: () => number
  readonly #names: AgentNames
  readonly #draw: Random
  readonly #entries: Entries
  readonly #mailbox: QueueOptions['mailbox']
  #onQueued: QueuedListener = () => {}

  constructor({ entries, settings, mailbox, now = Date.now, draw = cryptoRandom() }: QueueOptions) {
    this.#mailbox = mailbox
    this.#entries = entries
    this.settings = settings
    this.records = new Records(entries, new Retention(settings.mail_retention_days))
    this.addresses = new Addresses(settings)
    this.#names = new AgentNames(entries, this.addresses)
    this.now = now
    this.#draw = draw
  }

  get missing(): readonly string[] {
    return this.settings.smtp === null ? ['ASYNCGATE_SMTP_URL'] : []
  }

  get maxBytes(): number {
    return this.settings.mail_max_bytes
  }

  get retentionDays(): number | null {
    return this.settings.mail_retention_days === 0 ? null : this.settings.mail_retention_days
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

  /** Told of every mail that this process queues. */
  onQueued(listener: QueuedListener): void {
    this.#onQueued = listener
  }

  newId(): string {
    return taskId(this.now(), this.#draw)
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.#draw.unit()
  }

  async queue(tenant: number, draft: EmailDraft): Promise<Email> {
    const email_id = await this.#idFor(tenant, draft)
    const known = await this.get(tenant, email_id)
    if (known !== undefined) return known
    if (draft.limited_by !== null && this.settings.mail_max_per_hour > 0) {
      await countMail(this.#entries, tenant, draft.limited_by, this.settings.mail_max_per_hour, this.now())
    }
    const email = this.#pending(email_id, draft, await this.agentOf(tenant, draft.to))
    // The mail itself comes last: from then on it is sent, and all of it must be there.
    await this.records.writeContent(tenant, email, draft.content)
    await this.records.attachToTask(tenant, email)
    const written = await this.records.write(tenant, email, 0)
    if (written === undefined) return (await this.get(tenant, email_id)) ?? email
    this.#onQueued(tenant, draft.hold_ms ?? 0)
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
    // The id of a mail that came in is not its Message-ID.
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
    // A sender that comes now finds it failed, and one that came before has changed it.
    const canceled: Email = { ...found.email, status: 'failed', next_try_at: null, error: 'taken back' }
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
    if (again !== undefined) this.#onQueued(tenant, 0)
    return again
  }

  async fetched(tenant: number, email: Email): Promise<Email> {
    const mark = (found: Email) =>
      found.fetched_at === null ? { ...found, fetched_at: this.now() } : undefined
    return (await this.records.change(tenant, email.email_id, mark)) ?? email
  }

  async archive(tenant: number, email: Email): Promise<Email> {
    await this.#mailbox?.archive(email.message_id)
    const mark = (found: Email) =>
      found.archived_at === null ? { ...found, archived_at: this.now() } : undefined
    return (await this.records.change(tenant, email.email_id, mark)) ?? email
  }

  /** The id of a mail of ours, from its Message-ID. */
  #ownId(messageId: string): string | undefined {
    const at = messageId.lastIndexOf('@')
    const id = messageId.slice(0, at)
    const ours = messageId.slice(at + 1).toLowerCase() === this.settings.mail_domain.toLowerCase()
    return ours && isUuid(id) ? id : undefined
  }

  async #foreignId(tenant: number, messageId: string): Promise<string | undefined> {
    const entry = await this.#entries.get(tenant, KIND.messageId, hashOf(messageId))
    return entry && JSON.parse(entry.value).email_id
  }

  async #idFor(tenant: number, draft: EmailDraft): Promise<string> {
    const email_id = this.newId()
    const { idempotency_key, by, to, subject, content, task_id } = draft
    if (idempotency_key === null) return email_id
    const digest = digestOf({ to, subject, content, task_id })
    const due_at = this.records.retention.endOfKey(this.now())
    const slot = { tenant, kind: KIND.key, name: `${by} ${idempotency_key}`, due_at }
    const holder = await reserve(this.#entries, slot, { email_id, digest })
    if (holder.digest !== digest) throw new Fault('IDEMPOTENCY_CONFLICT', { idempotency_key })
    return holder.email_id
  }

  #pending(email_id: string, draft: EmailDraft, agent: string | undefined): Email {
    const { from, to, subject, task_id, by, archive_copy, content } = draft
    const now = this.now()
    return {
      email_id,
      direction: 'outbound',
      message_id: `${email_id}@${this.settings.mail_domain}`,
      in_reply_to: null,
      from,
      to: [to],
      subject,
      task_id,
      by,
      agents: agent === undefined ? [] : [agent],
      status: 'pending',
      attempts: 0,
      error: null,
      attachments: content.attachments.map(infoOf),
      archive_copy,
      created_at: now,
      next_try_at: now + (draft.hold_ms ?? 0),
      sent_at: null,
      delivered_at: null,
      fetched_at: null,
      archived_at: null,
    }
  }
}

export function infoOf({ filename, media_type, content }: Attachment): AttachmentInfo {
  return { filename, media_type, size_bytes: Buffer.byteLength(content, 'base64') }
}
