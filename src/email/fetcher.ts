import { Fault } from '../core/errors.ts'
import type { Mailbox, Verdict } from './imap.ts'
import type { Inbox } from './inbox.ts'
import type { IncomingMail } from './incoming.ts'
import { parseMime } from './mime.ts'

interface FetcherOptions {
  readonly mailbox: Mailbox
  readonly inbox: Inbox
  /** The mail server whose Authentication-Results are believed. */
  readonly authserv: string | null
  readonly report: (error: unknown) => void
  readonly onRefused: (reason: string, mail: IncomingMail) => void
}

/** Fetches mail from a mailbox, where nobody brings it. */
export class Fetcher {
  readonly #options: FetcherOptions

  constructor(options: FetcherOptions) {
    this.#options = options
  }

  /** Takes in what is there; resolves with how many mails were dealt with. */
  fetch(signal: AbortSignal): Promise<number> {
    return this.#options.mailbox.visit((bytes) => this.#judge(bytes), signal)
  }

  async #judge(bytes: Buffer): Promise<Verdict> {
    const { inbox, authserv, report, onRefused } = this.#options
    try {
      const mail = await parseMime(bytes, authserv)
      const answer = await inbox.receive(mail)
      if (answer.status !== 'refused') return 'archive'
      onRefused(answer.reason ?? '', mail)
      return 'failed'
    } catch (error) {
      report(error)
      // What will not be better the next time must not stand in the way of the others.
      return error instanceof Fault && !error.retryable ? 'failed' : 'leave'
    }
  }
}
