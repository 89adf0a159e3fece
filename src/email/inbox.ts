import { hash } from 'node:crypto'
import { foldAddress, isListed } from '../core/address.ts'
import { GATE } from '../core/principal.ts'
import type { DeliveryAnswer, Email, EmailContent } from '../features/email/email.ts'
import { sizeOf } from '../features/email/send-email.ts'
import { type DeliveryReport, deliveryReport } from './headers.ts'
import type { IncomingEmail } from './incoming.ts'
import type { Notices } from './notices.ts'
import { type EmailQueue, infoOf } from './queue.ts'
import { hashOf, KIND, NEW_EMAIL } from './records.ts'
import type { Scanner } from './scanner.ts'

interface InboxOptions {
  readonly queue: EmailQueue
  readonly notices: Notices
  /** The tenant whose agents receive emails. */
  readonly tenant: number
  readonly scanner: Scanner | undefined
}

const MAX_ATTACHMENTS = 50
const MAX_AGENTS = 50
const MAX_SHOWN_RECIPIENTS = 100
/** The maximum number of answered emails that are looked up. */
const MAX_ANSWERED = 20
const TASK_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Receives emails from all sources. The Message-ID identifies an email, which is stored once. */
export class Inbox {
  readonly #queue: EmailQueue
  readonly #notices: Notices
  readonly #tenant: number
  readonly #scanner: Scanner | undefined

  constructor({ queue, notices, tenant, scanner }: InboxOptions) {
    this.#queue = queue
    this.#notices = notices
    this.#tenant = tenant
    this.#scanner = scanner
  }

  /** Rejects if the delivery should be retried. */
  async receive(incoming: IncomingEmail): Promise<DeliveryAnswer> {
    const report = deliveryReport(incoming)
    const reported = report && (await this.#applyReport(report))
    if (reported !== undefined) return { status: 'received', email_id: reported.email_id }
    const agents = await this.#agentsOf(incoming)
    if (agents.length === 0) return refused('no recipient is an agent of this server')
    if (agents.length > MAX_AGENTS) return refused('the email has too many recipients')
    const own = await this.#ownEmail(incoming, agents)
    const refusal = own === undefined ? await this.#refusal(incoming) : undefined
    if (refusal !== undefined) return refused(refusal)
    return this.#store(incoming, agents, own)
  }

  /** The recipients; for a reply to the address of the server, the agents of the answered email. */
  async #agentsOf(incoming: IncomingEmail): Promise<string[]> {
    const found = incoming.recipients.map((address) => this.#queue.agentOf(this.#tenant, address))
    const agents = unique(await Promise.all(found))
    const own = foldAddress(this.#queue.settings.mail_from)
    if (agents.length > 0 || !incoming.recipients.some((address) => foldAddress(address) === own))
      return agents
    for (const id of incoming.answers.slice(0, MAX_ANSWERED)) {
      const answered = await this.#queue.byMessageId(this.#tenant, id)
      if (answered?.direction !== 'outbound') continue
      return answered.by.startsWith('agent:') ? [answered.by.slice('agent:'.length)] : [...answered.agents]
    }
    return []
  }

  /** Why the email is refused. The sender is checked first, so that an unknown sender learns nothing else. */
  async #refusal(incoming: IncomingEmail): Promise<string | undefined> {
    const { mail_senders, mail_sender_proof, mail_max_bytes } = this.#queue.settings
    if (incoming.from === undefined || !isListed(mail_senders, incoming.from))
      return 'the sender is not allowed'
    const proven =
      incoming.proof === 'pass' || (incoming.proof === 'unknown' && mail_sender_proof === 'if_known')
    if (mail_sender_proof !== 'off' && !proven) return 'the sender is not verified'
    if (sizeOf(incoming) > mail_max_bytes) return 'the email is too large'
    if (incoming.attachments.length > MAX_ATTACHMENTS) return 'the email has too many attachments'
    for (const { content } of incoming.attachments) {
      if (await this.#scanner?.finds(Buffer.from(content, 'base64'))) return 'an attachment is infected'
    }
    return undefined
  }

  /** An email between two agents of this server that has arrived. The stored copy is used, because it cannot be forged. */
  async #ownEmail(incoming: IncomingEmail, agents: readonly string[]) {
    if (incoming.message_id === undefined) return undefined
    const email = await this.#queue.byMessageId(this.#tenant, incoming.message_id)
    if (email?.direction !== 'outbound' || !email.agents.some((agent) => agents.includes(agent)))
      return undefined
    const content = await this.#queue.content(this.#tenant, email)
    if (content === undefined) return undefined
    return { email: await this.#delivered(email), content }
  }

  async #store(
    incoming: IncomingEmail,
    recipients: readonly string[],
    own: { email: Email; content: EmailContent } | undefined,
  ): Promise<DeliveryAnswer> {
    const agents = own === undefined ? recipients : own.email.agents
    const content = own?.content ?? { text: incoming.text, attachments: incoming.attachments }
    const message_id = incoming.message_id ?? generatedId(incoming)
    const { records } = this.#queue
    const email_id = await this.#idFor(message_id)
    const known = await records.find(this.#tenant, email_id)
    if (known !== undefined) return this.#again(known.email, agents)
    const email: Email = {
      ...NEW_EMAIL,
      email_id,
      direction: 'inbound',
      message_id,
      in_reply_to: incoming.answers[0] ?? null,
      from: own?.email.from ?? incoming.from ?? '',
      to: own?.email.to ?? unique(incoming.recipients).slice(0, MAX_SHOWN_RECIPIENTS),
      subject: own?.email.subject ?? incoming.subject,
      task_id: own?.email.task_id ?? (await this.#taskOf(incoming, agents)),
      by: GATE,
      agents,
      status: 'received',
      attachments: content.attachments.map(infoOf),
      archive_copy: true,
      created_at: this.#queue.now(),
      delivered_at: this.#queue.now(),
    }
    await records.writeContent(this.#tenant, email, content)
    await records.attachToTask(this.#tenant, email)
    const written = await records.write(this.#tenant, email, 0)
    await this.#notices.announce(email, agents)
    return { status: written === undefined ? 'duplicate' : 'received', email_id }
  }

  /** A process may have died before it announced the email, and providers may deliver it once per recipient. */
  async #again(email: Email, agents: readonly string[]): Promise<DeliveryAnswer> {
    const changed = await this.#queue.records.change(this.#tenant, email.email_id, (found) => {
      const all = unique([...found.agents, ...agents])
      return all.length === found.agents.length ? undefined : { ...found, agents: all }
    })
    await this.#notices.announce(changed ?? email, (changed ?? email).agents)
    return { status: 'duplicate', email_id: email.email_id }
  }

  async #idFor(message_id: string): Promise<string> {
    const { records, now } = this.#queue
    const holder = { email_id: this.#queue.newId() }
    return (await records.reserve(this.#tenant, KIND.messageId, hashOf(message_id), holder, now())).email_id
  }

  /** The task of the answered email or in the subject, if a recipient may read it. */
  async #taskOf(incoming: IncomingEmail, agents: readonly string[]): Promise<string | null> {
    for (const id of incoming.answers.slice(0, MAX_ANSWERED)) {
      const answered = await this.#queue.byMessageId(this.#tenant, id)
      if (answered?.task_id) return this.#notices.taskOf(agents, answered.task_id)
    }
    const [named] = incoming.subject.match(TASK_ID) ?? []
    return named === undefined ? null : this.#notices.taskOf(agents, named)
  }

  /** Applies a delivery status notification; undefined if it is not about an email of this server. */
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

/** A deterministic Message-ID for an email without one. */
function generatedId({ from, subject, text, attachments }: IncomingEmail): string {
  return `${hash('sha256', JSON.stringify([from, subject, text, attachments]), 'hex')}@no-message-id`
}

function unique<T>(items: readonly (T | undefined)[]): T[] {
  return [...new Set(items.filter((item) => item !== undefined))]
}
