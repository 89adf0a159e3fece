import { hash } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import type { Email, EmailContent } from '../features/email/email.ts'
import type { Entries, Entry } from '../store/entries.ts'

/** The kinds of entries. An entry is removed when it is due, except for a pending email, which is sent first. */
export const KIND = {
  /** Outbound emails by email_id. A pending one is due at its next attempt. */
  outbound: 'email',
  /** Inbound emails by email_id. */
  inbound: 'inbound_email',
  /** Text and attachments by email_id; separate, so that lists do not read them. */
  content: 'email_content',
  /** `task_id/email_id` */
  ofTask: 'email_of_task',
  /** The email_id of an idempotency key. */
  key: 'email_key',
  /** The email_id of an inbound email, by the hash of its Message-ID. */
  messageId: 'inbound_key',
  /** The number of emails of a sender in the current hour. */
  rate: 'email_rate',
  /** The agent of a name in an address. */
  agentName: 'email_agent',
} as const

const HOUR_MS = 3600 * 1000
const DAY_MS = 24 * HOUR_MS

/** Providers retry for days, so that a duplicate may arrive late. */
const MIN_KEY_DAYS = 7

/** An email and its version, for optimistic locking. */
export interface Versioned {
  readonly email: Email
  readonly version: number
}

/** Emails in the entries of the store. */
export class Records {
  readonly entries: Entries
  readonly #days: number

  /** Emails are stored for `retentionDays`; 0 means forever. */
  constructor(entries: Entries, retentionDays: number) {
    this.entries = entries
    this.#days = retentionDays
  }

  async find(tenant: number, emailId: string): Promise<Versioned | undefined> {
    const entry =
      (await this.entries.get(tenant, KIND.outbound, emailId)) ??
      (await this.entries.get(tenant, KIND.inbound, emailId))
    return entry && read(entry)
  }

  async list(tenant: number, kind: string, after: string, limit: number): Promise<Email[]> {
    return (await this.entries.list(tenant, kind, after, limit)).map((entry) => read(entry).email)
  }

  /** Outbound emails that are due. */
  async due(tenant: number, now: number, limit: number): Promise<Versioned[]> {
    return (await this.entries.due(tenant, KIND.outbound, now, limit)).map(read)
  }

  /** Undefined if the email has another version. */
  async write(tenant: number, email: Email, expected: number): Promise<Versioned | undefined> {
    const version = await this.entries.put(
      {
        tenant,
        kind: KIND[email.direction],
        name: email.email_id,
        value: JSON.stringify(email),
        due_at: email.status === 'pending' ? email.next_try_at : this.#end(email),
      },
      expected,
    )
    return version === undefined ? undefined : { email, version }
  }

  /** Applies a change to the current version of the email; undefined if it no longer exists. */
  async change(
    tenant: number,
    emailId: string,
    alter: (email: Email) => Email | undefined,
  ): Promise<Email | undefined> {
    for (;;) {
      const found = await this.find(tenant, emailId)
      if (found === undefined) return undefined
      const altered = alter(found.email)
      if (altered === undefined) return found.email
      if ((await this.write(tenant, altered, found.version)) !== undefined) return altered
    }
  }

  async writeContent(tenant: number, email: Email, content: EmailContent): Promise<void> {
    await this.entries.put({
      tenant,
      kind: KIND.content,
      name: email.email_id,
      value: JSON.stringify(content),
      due_at: this.#end(email),
    })
  }

  async content(tenant: number, emailId: string): Promise<EmailContent | undefined> {
    const entry = await this.entries.get(tenant, KIND.content, emailId)
    return entry && JSON.parse(entry.value)
  }

  async removeContent(tenant: number, emailId: string): Promise<void> {
    await this.entries.remove(tenant, KIND.content, emailId)
  }

  async attachToTask(tenant: number, email: Email): Promise<void> {
    if (email.task_id === null) return
    await this.entries.put({
      tenant,
      kind: KIND.ofTask,
      name: `${email.task_id}/${email.email_id}`,
      value: '{}',
      due_at: this.#end(email),
    })
  }

  async idsOfTask(tenant: number, taskId: string, limit: number): Promise<string[]> {
    const prefix = `${taskId}/`
    const entries = await this.entries.list(tenant, KIND.ofTask, prefix, limit)
    return entries.flatMap(({ name }) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  }

  /** Removes an email with its content. */
  async remove(tenant: number, { direction, email_id, task_id }: Email): Promise<void> {
    if (task_id !== null) await this.entries.remove(tenant, KIND.ofTask, `${task_id}/${email_id}`)
    await this.removeContent(tenant, email_id)
    await this.entries.remove(tenant, KIND[direction], email_id)
  }

  /** Removes expired entries; resolves with their number. */
  async forget(tenant: number, now: number, limit: number): Promise<number> {
    let count = 0
    for (const kind of Object.values(KIND)) {
      for (const entry of await this.entries.due(tenant, kind, now, limit)) {
        if (kind === KIND.outbound && read(entry).email.status === 'pending') continue
        if (await this.entries.remove(tenant, kind, entry.name)) count++
      }
    }
    return count
  }

  /** The email_id of a unique name: the given one if the name is new, otherwise the one that was stored first. */
  async reserve(tenant: number, kind: string, name: string, holder: Holder, now: number): Promise<Holder> {
    const due_at = this.#days === 0 ? null : now + Math.max(this.#days, MIN_KEY_DAYS) * DAY_MS
    const slot = { tenant, kind, name, due_at, value: JSON.stringify(holder) }
    for (;;) {
      if ((await this.entries.put(slot, 0)) !== undefined) return holder
      const found = await this.entries.get(tenant, kind, name)
      // Undefined if it has expired meanwhile.
      if (found !== undefined) return JSON.parse(found.value)
    }
  }

  /** Counts an email of the sender; throws if the hourly limit is reached. */
  async count(tenant: number, by: string, limit: number, now: number): Promise<void> {
    const hour = Math.floor(now / HOUR_MS)
    for (;;) {
      const found = await this.entries.get(tenant, KIND.rate, by)
      const before: { hour: number; count: number } = found ? JSON.parse(found.value) : { hour, count: 0 }
      const count = before.hour === hour ? before.count : 0
      if (count >= limit) {
        const retry_after_seconds = Math.ceil(((hour + 1) * HOUR_MS - now) / 1000)
        const details = { limit_per_hour: limit, retry_after_seconds }
        throw new Fault('RATE_LIMIT_EXCEEDED', details, 'The sender has reached its hourly limit of emails.')
      }
      const value = JSON.stringify({ hour, count: count + 1 })
      const draft = { tenant, kind: KIND.rate, name: by, value, due_at: (hour + 2) * HOUR_MS }
      if ((await this.entries.put(draft, found?.version ?? 0)) !== undefined) return
    }
  }

  #end({ created_at }: Email): number | null {
    return this.#days === 0 ? null : created_at + this.#days * DAY_MS
  }
}

function read(entry: Entry): Versioned {
  return { email: JSON.parse(entry.value), version: entry.version }
}

interface Holder {
  readonly email_id: string
  /** The digest of the email; the same name with another digest is a conflict. */
  readonly digest?: string
}

/** The name of a Message-ID in the store, because a Message-ID is untrusted text of any length. */
export function hashOf(messageId: string): string {
  return hash('sha256', messageId, 'hex')
}

/** The fields of an email to which nothing has happened yet. */
export const NEW_EMAIL = {
  in_reply_to: null,
  attempts: 0,
  error: null,
  next_try_at: null,
  sent_at: null,
  delivered_at: null,
  fetched_at: null,
  archived_at: null,
} as const
