import { hash } from 'node:crypto'
import { foldAddress, isListed } from '../core/address.ts'
import { GATE } from '../core/principal.ts'
import type { DeliveryAnswer, Email, EmailContent } from '../features/email/email.ts'
import { sizeOf } from '../features/email/send-email.ts'
import { type DeliveryReport, deliveryReport } from './delivery-report.ts'
import type { IncomingMail } from './incoming.ts'
import { reserve } from './keys.ts'
import { hashOf } from './message-id.ts'
import type { Notices } from './notices.ts'
import { infoOf, type MailQueue } from './queue.ts'
import { KIND } from './records.ts'
import type { Scanner } from './scanner.ts'

export interface InboxOptions {
  readonly queue: MailQueue
  readonly notices: Notices
  /** The tenant whose agents get mail. */
  readonly tenant: number
  readonly scanner: Scanner | undefined
}

const MAX_ATTACHMENTS = 50
const MAX_AGENTS = 50
const MAX_SHOWN_RECIPIENTS = 100
/** As many of the mails before it as are looked up. */
const MAX_ANSWERED = 20
const TASK_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Takes mail in, whoever brings it. A mail is known by its Message-ID, and is taken in once. */
export class Inbox {
  readonly #queue: MailQueue
  readonly #notices: Notices
  readonly #tenant: number
  readonly #scanner: Scanner | undefined

  constructor({ queue, notices, tenant, scanner }: InboxOptions) {
    this.#queue = queue
    this.#notices = notices
    this.#tenant = tenant
    this.#scanner = scanner
  }

  /** Rejects if it should be tried again. */
  async receive(mail: IncomingMail): Promise<DeliveryAnswer> {
    const report = deliveryReport(mail)
    const reported = report && (await this.#applyReport(report))
    if (reported !== undefined) return { status: 'received', email_id: reported.email_id }
    const agents = await this.#agentsOf(mail)
    if (agents.length === 0) return refused('no recipient is an agent of this gate')
    if (agents.length > MAX_AGENTS) return refused('the mail has too many recipients')
    const own = await this.#ownMail(mail, agents)
    const refusal = own === undefined ? await this.#refusal(mail) : undefined
    if (refusal !== undefined) return refused(refusal)
    return this.#keep(mail, agents, own)
  }

  /** Its recipients; or, of an answer that came to the gate itself, whose mail it answers. */
  async #agentsOf(mail: IncomingMail): Promise<string[]> {
    const found = mail.recipients.map((address) => this.#queue.agentOf(this.#tenant, address))
    const agents = unique(await Promise.all(found))
    const own = foldAddress(this.#queue.settings.mail_from)
    if (agents.length > 0 || !mail.recipients.some((address) => foldAddress(address) === own)) return agents
    for (const id of mail.answers.slice(0, MAX_ANSWERED)) {
      const answered = await this.#queue.byMessageId(this.#tenant, id)
      if (answered?.direction !== 'outbound') continue
      return answered.by.startsWith('agent:') ? [answered.by.slice('agent:'.length)] : [...answered.agents]
    }
    return []
  }

  /** Why the mail is not wanted. Who it is from comes first: a stranger learns nothing else. */
  async #refusal(mail: IncomingMail): Promise<string | undefined> {
    const { mail_senders, mail_sender_proof, mail_max_bytes } = this.#queue.settings
    if (mail.from === undefined || !isListed(mail_senders, mail.from)) return 'the sender is not allowed'
    const proven = mail.proof === 'pass' || (mail.proof === 'unknown' && mail_sender_proof === 'if_known')
    if (mail_sender_proof !== 'off' && !proven) return 'the sender is not proven'
    if (sizeOf(mail) > mail_max_bytes) return 'the mail is too large'
    if (mail.attachments.length > MAX_ATTACHMENTS) return 'the mail has too many attachments'
    for (const { content } of mail.attachments) {
      if (await this.#scanner?.finds(Buffer.from(content, 'base64'))) return 'an attachment is infected'
    }
    return undefined
  }

  /**
   * A mail of one agent of ours to another, come back. What we keep of it is what is taken in: nobody could forge it.
   */
  async #ownMail(mail: IncomingMail, agents: readonly string[]) {
    if (mail.message_id === undefined) return undefined
    const email = await this.#queue.byMessageId(this.#tenant, mail.message_id)
    if (email?.direction !== 'outbound' || !email.agents.some((agent) => agents.includes(agent)))
      return undefined
    const content = await this.#queue.content(this.#tenant, email)
    if (content === undefined) return undefined
    return { email: await this.#delivered(email), content }
  }

  async #keep(
    mail: IncomingMail,
    recipients: readonly string[],
    own: { email: Email; content: EmailContent } | undefined,
  ): Promise<DeliveryAnswer> {
    const agents = own === undefined ? recipients : own.email.agents
    const content = own?.content ?? { text: mail.text, attachments: mail.attachments }
    const message_id = mail.message_id ?? madeUpId(mail)
    const { records } = this.#queue
    const email_id = await this.#idFor(message_id)
    const known = await records.find(this.#tenant, email_id)
    if (known !== undefined) return this.#again(known.email, agents)
    const email: Email = {
      email_id,
      direction: 'inbound',
      message_id,
      in_reply_to: mail.answers[0] ?? null,
      from: own?.email.from ?? mail.from ?? '',
      to: own?.email.to ?? unique(mail.recipients).slice(0, MAX_SHOWN_RECIPIENTS),
      subject: own?.email.subject ?? mail.subject,
      task_id: own?.email.task_id ?? (await this.#taskOf(mail, agents)),
      by: GATE,
      agents,
      status: 'received',
      attempts: 0,
      error: null,
      attachments: content.attachments.map(infoOf),
      archive_copy: true,
      created_at: this.#queue.now(),
      next_try_at: null,
      sent_at: null,
      delivered_at: this.#queue.now(),
      fetched_at: null,
      archived_at: null,
    }
    await records.writeContent(this.#tenant, email, content)
    await records.attachToTask(this.#tenant, email)
    const written = await records.write(this.#tenant, email, 0)
    await this.#notices.announce(email, agents)
    return { status: written === undefined ? 'duplicate' : 'received', email_id }
  }

  /** Whoever took it in first may have died before everybody was told. Providers may bring it once for each recipient. */
  async #again(email: Email, agents: readonly string[]): Promise<DeliveryAnswer> {
    const changed = await this.#queue.records.change(this.#tenant, email.email_id, (found) => {
      const all = unique([...found.agents, ...agents])
      return all.length === found.agents.length ? undefined : { ...found, agents: all }
    })
    await this.#notices.announce(changed ?? email, (changed ?? email).agents)
    return { status: 'duplicate', email_id: email.email_id }
  }

  async #idFor(message_id: string): Promise<string> {
    const due_at = this.#queue.records.retention.endOfKey(this.#queue.now())
    const slot = { tenant: this.#tenant, kind: KIND.messageId, name: hashOf(message_id), due_at }
    const { email_id } = await reserve(this.#queue.records.entries, slot, { email_id: this.#queue.newId() })
    return email_id
  }

  /** What the mail answers, or names in its subject; if its recipient may see that task. */
  async #taskOf(mail: IncomingMail, agents: readonly string[]): Promise<string | null> {
    for (const id of mail.answers.slice(0, MAX_ANSWERED)) {
      const answered = await this.#queue.byMessageId(this.#tenant, id)
      if (answered?.task_id) return this.#notices.taskOf(agents, answered.task_id)
    }
    const [named] = mail.subject.match(TASK_ID) ?? []
    return named === undefined ? null : this.#notices.taskOf(agents, named)
  }

  /** A mail server knows what became of one of ours; undefined if it is none of ours. */
  async #applyReport({ message_id, action, reason }: DeliveryReport): Promise<Email | undefined> {
    const email = await this.#queue.byMessageId(this.#tenant, message_id)
    if (email?.direction !== 'outbound') return undefined
    if (action === 'delivered') return this.#delivered(email)
    return this.#queue.records.change(this.#tenant, email.email_id, (found) =>
      found.status === 'sent' || found.status === 'pending'
        ? { ...found, status: 'failed', next_try_at: null, error: reason }
        : undefined,
    )
  }

  async #delivered(email: Email): Promise<Email> {
    const now = this.#queue.now()
    const changed = await this.#queue.records.change(this.#tenant, email.email_id, (found) =>
      found.status === 'delivered'
        ? undefined
        : {
            ...found,
            status: 'delivered',
            sent_at: found.sent_at ?? now,
            delivered_at: now,
            next_try_at: null,
            error: null,
          },
    )
    return changed ?? email
  }
}

function refused(reason: string): DeliveryAnswer {
  return { status: 'refused', reason }
}

/** Of a mail that has none: the same mail gets the same one. */
function madeUpId({ from, subject, text, attachments }: IncomingMail): string {
  return `${hash('sha256', JSON.stringify([from, subject, text, attachments]), 'hex')}@no-message-id`
}

function unique<T>(items: readonly (T | undefined)[]): T[] {
  return [...new Set(items.filter((item) => item !== undefined))]
}
