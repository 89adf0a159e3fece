import { Fault } from '../core/errors.ts'
import type { Store, TenantRef } from '../store/store.ts'
import type { Random } from '../util/random.ts'
import { Repeater } from '../util/repeater.ts'
import { Mailbox, type Verdict } from './imap.ts'
import { Inbox } from './inbox.ts'
import type { IncomingEmail } from './incoming.ts'
import { parseMime } from './mime.ts'
import { type NoticeGate, Notices } from './notices.ts'
import { EmailQueue } from './queue.ts'
import { clamd } from './scanner.ts'
import { Sender } from './sender.ts'
import type { EmailSettings } from './settings.ts'
import { openDkim, openSmtp } from './smtp.ts'
import { Webhook } from './webhook.ts'

interface EmailServiceOptions {
  readonly store: Store
  readonly settings: EmailSettings
  /** The tenant that the account belongs to. */
  readonly tenant: TenantRef
  readonly report: (error: unknown) => void
  /** Called for each refused email. */
  readonly onRefused?: (reason: string, email: IncomingEmail) => void
  readonly now?: () => number
  readonly random?: Random
}

const SEND_EVERY_MS = 2_000
const CLEAN_EVERY_MS = 60_000
const CLEAN_BATCH = 200

/** The time limits of a shutdown. Work that has not ended by then is left to the next process. */
const STOP_MS = 3_000
const ABORT_MS = 1_000

/** The email account of a tenant: its queue, and the processes that send and receive. */
export class EmailService {
  readonly queue: EmailQueue
  readonly tenant: number
  readonly #options: EmailServiceOptions
  readonly #mailbox: Mailbox | undefined
  readonly #repeaters: Repeater[] = []
  #sender: Sender | undefined

  constructor(options: EmailServiceOptions) {
    const { store, settings, tenant, now, random } = options
    this.#options = options
    this.tenant = tenant.tenant
    this.#mailbox = settings.imap === null ? undefined : new Mailbox(settings.imap, settings.mail_max_bytes)
    this.queue = new EmailQueue({
      entries: store.entries,
      settings,
      mailbox: this.#mailbox,
      ...(now && { now }),
      ...(random && { random }),
    })
  }

  /** Starts to send and to fetch emails. Resolves with the receiver for providers; undefined if none is configured. */
  async start(gate: NoticeGate): Promise<Webhook | undefined> {
    const { settings, tenant, report, onRefused = () => {} } = this.#options
    const notices = new Notices(gate, this.queue, tenant)
    const scanner = settings.mail_clamd === null ? undefined : clamd(settings.mail_clamd)
    const inbox = new Inbox({ queue: this.queue, notices, tenant: tenant.tenant, scanner })
    if (settings.smtp !== null) await this.#startSending(settings.smtp)
    if (this.#mailbox !== undefined && settings.imap !== null) {
      const options = {
        mailbox: this.#mailbox,
        inbox,
        authserv: settings.mail_authserv_id,
        report,
        onRefused,
      }
      this.#repeat(settings.imap.poll_seconds * 1000, (signal) => fetchEmails(options, signal))
    }
    this.#repeat(CLEAN_EVERY_MS, async () => {
      await notices.finish()
      await this.queue.records.forget(this.tenant, this.queue.now(), CLEAN_BATCH)
    })
    const { mail_webhook_secret, mail_sendgrid_public_key } = settings
    if (mail_webhook_secret === null && mail_sendgrid_public_key === null) return undefined
    return new Webhook({ inbox, settings, now: this.queue.now, onRefused, report })
  }

  async stop(): Promise<void> {
    this.#sender?.stop()
    await Promise.all(this.#repeaters.map((repeater) => repeater.stop(STOP_MS)))
    this.#sender?.close()
    // Aborted sends still have to requeue their emails.
    await Promise.all(this.#repeaters.map((repeater) => repeater.stop(ABORT_MS)))
  }

  async #startSending(smtp: NonNullable<EmailSettings['smtp']>): Promise<void> {
    const { settings, report } = this.#options
    const dkim = settings.dkim ? await openDkim(settings.dkim) : undefined
    const transport = await openSmtp(smtp, settings.mail_from, dkim)
    const sender = new Sender({ queue: this.queue, transport, report })
    this.#sender = sender
    const sending = this.#repeat(SEND_EVERY_MS, () => sender.sendDue(this.tenant))
    this.queue.onQueued((holdMs) => {
      if (holdMs === 0) sending.wake()
    })
  }

  #repeat(intervalMs: number, run: (signal: AbortSignal) => Promise<unknown>): Repeater {
    const repeater = new Repeater(intervalMs, run, this.#options.report)
    this.#repeaters.push(repeater)
    repeater.wake()
    return repeater
  }
}

interface FetchOptions {
  readonly mailbox: Mailbox
  readonly inbox: Inbox
  /** The email server whose Authentication-Results are trusted. */
  readonly authserv: string | null
  readonly report: (error: unknown) => void
  readonly onRefused: (reason: string, email: IncomingEmail) => void
}

/** Receives the emails in an IMAP mailbox; resolves with the number of emails that were moved. */
export function fetchEmails(options: FetchOptions, signal: AbortSignal): Promise<number> {
  const { mailbox, inbox, authserv, report, onRefused } = options
  const receive = async (bytes: Buffer): Promise<Verdict> => {
    try {
      const email = await parseMime(bytes, authserv)
      const { status, reason = '' } = await inbox.receive(email)
      if (status !== 'refused') return 'archive'
      onRefused(reason, email)
      return 'failed'
    } catch (error) {
      report(error)
      // An email that can never be received must not block the others.
      return error instanceof Fault && !error.retryable ? 'failed' : 'leave'
    }
  }
  return mailbox.visit(receive, signal)
}
