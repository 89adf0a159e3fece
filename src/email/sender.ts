import type { Email } from '../features/email/email.ts'
import { backoff } from '../util/backoff.ts'
import { messageOf } from '../util/error-message.ts'
import type { EmailQueue } from './queue.ts'
import type { Versioned } from './records.ts'
import { SendError, type Transport } from './smtp.ts'

interface SenderOptions {
  readonly queue: EmailQueue
  readonly transport: Transport
  readonly report: (error: unknown) => void
}

/** The maximum number of emails that are sent concurrently. */
const CONCURRENCY = 4

/**
 * How long a process has an email exclusively while it sends it; longer than any attempt. If the process dies after the SMTP
 * server has accepted the email and before that is stored, the email is sent again afterwards, with the same Message-ID, by
 * which the recipient can detect the duplicate.
 */
export const SENDING_MS = 5 * 60_000

const ATTEMPT_MS = 4 * 60_000

const MAX_BACKOFF_MS = 3600_000

/** Sends due emails. Several processes can do so concurrently. */
export class Sender {
  readonly #options: SenderOptions
  #stopped = false

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Starts no further sends. */
  stop(): void {
    this.#stopped = true
  }

  close(): void {
    this.#options.transport.close()
  }

  /** Sends the due emails of the tenant; resolves with the number of attempts. */
  async sendDue(tenant: number): Promise<number> {
    let count = 0
    while (!this.#stopped) {
      const due = await this.#options.queue.records.due(tenant, this.#options.queue.now(), CONCURRENCY)
      const taken = await Promise.all(due.map((found) => this.#take(tenant, found)))
      count += taken.filter(Boolean).length
      if (due.length < CONCURRENCY) break
    }
    return count
  }

  async #take(tenant: number, found: Versioned): Promise<boolean> {
    const { records } = this.#options.queue
    if (found.email.status !== 'pending') {
      // Its retention has ended.
      await records.remove(tenant, found.email)
      return false
    }
    const now = this.#options.queue.now()
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

  /** The email may have changed meanwhile. If it is no longer pending, its delivery was already confirmed. */
  async #record(tenant: number, { email_id, status, sent_at, next_try_at, error }: Email): Promise<void> {
    await this.#options.queue.records.change(tenant, email_id, (found) =>
      found.status === 'pending' ? { ...found, status, sent_at, next_try_at, error } : undefined,
    )
  }

  async #try(tenant: number, email: Email): Promise<Email> {
    const content = await this.#options.queue.content(tenant, email)
    try {
      if (content === undefined) throw new SendError('its content is no longer stored', true, undefined)
      await within(ATTEMPT_MS, this.#options.transport.send(email, content))
    } catch (error) {
      this.#options.report(error)
      return this.#failed(email, error)
    }
    return { ...email, status: 'sent', sent_at: this.#options.queue.now(), next_try_at: null, error: null }
  }

  #failed(email: Email, error: unknown): Email {
    const reason = messageOf(error)
    const permanent = error instanceof SendError && error.permanent
    if (permanent || email.attempts >= this.#options.queue.settings.mail_max_attempts) {
      return { ...email, status: 'failed', next_try_at: null, error: reason }
    }
    return { ...email, next_try_at: this.#options.queue.now() + this.#pause(email.attempts), error: reason }
  }

  /** Exponential backoff with jitter. */
  #pause(attempts: number): number {
    const base = this.#options.queue.settings.mail_retry_backoff_seconds * 1000
    const pause = backoff(attempts, base, MAX_BACKOFF_MS)
    return Math.round(pause * (0.8 + 0.4 * this.#options.queue.unit()))
  }
}

/** Rejects after a time limit, so that a server that never responds does not block the queue. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SendError(`no response within ${ms / 1000} s`, false, undefined)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
