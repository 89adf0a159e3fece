import type { Email } from '../features/email/email.ts'
import { backoff } from '../util/backoff.ts'
import { messageOf } from '../util/error-message.ts'
import type { MailQueue } from './queue.ts'
import type { Versioned } from './records.ts'
import { SendError, type Transport } from './smtp.ts'

export interface SenderOptions {
  readonly queue: MailQueue
  readonly transport: Transport
  readonly report: (error: unknown) => void
}

/** At most so many mails are under way at once. */
const AT_ONCE = 4

/**
 * A process that sends a mail has it for this long; nobody else tries it meanwhile. Longer than any try can take.
 *
 * A process that dies after the server took the mail and before that was written down leaves a mail that is sent once
 * more when this time is over. It has the same Message-ID then, by which a recipient knows it for the same mail.
 */
export const SENDING_MS = 5 * 60_000

const TRY_MS = 4 * 60_000

const MAX_BACKOFF_MS = 3600_000

/** Sends what is due. Any number of processes may do so at once. */
export class Sender {
  readonly #queue: MailQueue
  readonly #transport: Transport
  readonly #report: (error: unknown) => void
  #stopped = false

  constructor({ queue, transport, report }: SenderOptions) {
    this.#queue = queue
    this.#transport = transport
    this.#report = report
  }

  /** From now on no mail is begun. */
  stop(): void {
    this.#stopped = true
  }

  close(): void {
    this.#transport.close()
  }

  /** Sends what is due in the tenant now; resolves with how many mails it took on. */
  async sendDue(tenant: number): Promise<number> {
    let count = 0
    while (!this.#stopped) {
      const due = await this.#queue.records.due(tenant, this.#queue.now(), AT_ONCE)
      const taken = await Promise.all(due.map((found) => this.#take(tenant, found)))
      count += taken.filter(Boolean).length
      if (due.length < AT_ONCE) break
    }
    return count
  }

  async #take(tenant: number, found: Versioned): Promise<boolean> {
    const { records } = this.#queue
    if (found.email.status !== 'pending') {
      // Its time is over.
      await records.remove(tenant, found.email)
      return false
    }
    const now = this.#queue.now()
    const trying: Email = {
      ...found.email,
      attempts: found.email.attempts + 1,
      next_try_at: now + SENDING_MS,
    }
    const claimed = await records.write(tenant, trying, found.version)
    if (claimed === undefined) return false
    const outcome = await this.#try(tenant, trying)
    await this.#record(tenant, outcome)
    if (outcome.status === 'sent' && !outcome.archive_copy) {
      await records.removeContent(tenant, outcome.email_id)
    }
    return true
  }

  /** Somebody may have looked at it meanwhile. If it is no longer pending, its recipient was quicker: it has arrived. */
  async #record(tenant: number, { email_id, status, sent_at, next_try_at, error }: Email): Promise<void> {
    await this.#queue.records.change(tenant, email_id, (found) =>
      found.status === 'pending' ? { ...found, status, sent_at, next_try_at, error } : undefined,
    )
  }

  async #try(tenant: number, email: Email): Promise<Email> {
    const content = await this.#queue.content(tenant, email)
    try {
      if (content === undefined) throw new SendError('its content is no longer kept', true, undefined)
      await within(TRY_MS, this.#transport.send(email, content))
    } catch (error) {
      this.#report(error)
      return this.#failed(email, error)
    }
    return { ...email, status: 'sent', sent_at: this.#queue.now(), next_try_at: null, error: null }
  }

  #failed(email: Email, error: unknown): Email {
    const reason = messageOf(error)
    const permanent = error instanceof SendError && error.permanent
    if (permanent || email.attempts >= this.#queue.settings.mail_max_attempts) {
      return { ...email, status: 'failed', next_try_at: null, error: reason }
    }
    return { ...email, next_try_at: this.#queue.now() + this.#pause(email.attempts), error: reason }
  }

  /** Doubles with each try, and never is the same for all mails that failed together. */
  #pause(attempts: number): number {
    const base = this.#queue.settings.mail_retry_backoff_seconds * 1000
    const pause = backoff(attempts, base, MAX_BACKOFF_MS)
    return Math.round(pause * (0.8 + 0.4 * this.#queue.unit()))
  }
}

/** Gives up waiting, so that a server that never ends its answer holds nothing up. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SendError(`no answer within ${ms / 1000} s`, false, undefined)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
