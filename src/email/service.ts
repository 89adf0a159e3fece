import type { InboundMail } from '../features/email/email.ts'
import type { Store, TenantRef } from '../store/store.ts'
import type { Random } from '../util/random.ts'
import { Repeater } from '../util/repeater.ts'
import { openDkim } from './dkim.ts'
import { Fetcher } from './fetcher.ts'
import { Mailbox } from './imap.ts'
import { Inbox } from './inbox.ts'
import type { IncomingMail } from './incoming.ts'
import { type NoticeGate, Notices } from './notices.ts'
import { MailQueue } from './queue.ts'
import { clamd } from './scanner.ts'
import { Sender } from './sender.ts'
import type { MailSettings } from './settings.ts'
import { openSmtp } from './smtp.ts'
import { Webhook } from './webhook.ts'

interface MailServiceOptions {
  readonly store: Store
  readonly settings: MailSettings
  /** The tenant whose agents get mail. */
  readonly tenant: TenantRef
  readonly report: (error: unknown) => void
  /** Told of mail that was turned away. */
  readonly onRefused?: (reason: string, mail: IncomingMail) => void
  readonly now?: () => number
  readonly draw?: Random
}

const SEND_EVERY_MS = 2_000
const TIDY_EVERY_MS = 60_000
const TIDIED_AT_ONCE = 200

/** What has not ended by then is left to the next process. */
const STOP_WITHIN_MS = 3_000
const CUT_OFF_WITHIN_MS = 1_000

/** The mail of a server: the queue that its gate writes to, and what brings mail out and in. */
export class MailService {
  readonly queue: MailQueue
  readonly #options: MailServiceOptions
  readonly #mailbox: Mailbox | undefined
  readonly #repeaters: Repeater[] = []
  readonly #tenants: Set<number>
  #sender: Sender | undefined

  constructor(options: MailServiceOptions) {
    const { store, settings, tenant, now, draw } = options
    this.#options = options
    this.#tenants = new Set([tenant.tenant])
    this.#mailbox = settings.imap === null ? undefined : new Mailbox(settings.imap, settings.mail_max_bytes)
    this.queue = new MailQueue({
      entries: store.entries,
      settings,
      mailbox: this.#mailbox,
      ...(now && { now }),
      ...(draw && { draw }),
    })
  }

  /** Begins to send and to fetch. Resolves with what takes mail that is brought; undefined if nobody may bring any. */
  async start(gate: NoticeGate): Promise<InboundMail | undefined> {
    const { settings, tenant, report, onRefused = () => {} } = this.#options
    const notices = new Notices(gate, this.queue, tenant)
    const scanner = settings.mail_clamd === null ? undefined : clamd(settings.mail_clamd)
    const inbox = new Inbox({ queue: this.queue, notices, tenant: tenant.tenant, scanner })
    if (settings.smtp !== null) await this.#startSending(settings.smtp)
    if (this.#mailbox !== undefined && settings.imap !== null) {
      const fetcher = new Fetcher({
        mailbox: this.#mailbox,
        inbox,
        authserv: settings.mail_authserv_id,
        report,
        onRefused,
      })
      this.#repeat(settings.imap.poll_seconds * 1000, (signal) => fetcher.fetch(signal))
    }
    this.#repeat(TIDY_EVERY_MS, async () => {
      await notices.finish()
      for (const id of this.#tenants) await this.queue.records.forget(id, this.queue.now(), TIDIED_AT_ONCE)
    })
    const { mail_webhook_secret, mail_sendgrid_public_key } = settings
    if (mail_webhook_secret === null && mail_sendgrid_public_key === null) return undefined
    return new Webhook({ inbox, settings, now: this.queue.now, onRefused, report })
  }

  async stop(): Promise<void> {
    this.#sender?.stop()
    await Promise.all(this.#repeaters.map((repeater) => repeater.stop(STOP_WITHIN_MS)))
    this.#sender?.close()
    // A mail that was cut off is still to be put back.
    await Promise.all(this.#repeaters.map((repeater) => repeater.stop(CUT_OFF_WITHIN_MS)))
  }

  async #startSending(smtp: NonNullable<MailSettings['smtp']>): Promise<void> {
    const { settings, report } = this.#options
    const dkim = settings.dkim ? await openDkim(settings.dkim) : undefined
    const transport = await openSmtp(smtp, settings.mail_from, dkim)
    const sender = new Sender({ queue: this.queue, transport, report })
    this.#sender = sender
    const sending = this.#repeat(SEND_EVERY_MS, async () => {
      for (const tenant of this.#tenants) await sender.sendDue(tenant)
    })
    this.queue.onQueued((tenant, holdMs) => {
      this.#tenants.add(tenant)
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
