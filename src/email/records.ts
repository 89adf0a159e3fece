import type { Email, EmailContent } from '../features/email/email.ts'
import type { Entries, Entry } from '../store/entries.ts'

/** The kinds of entries that mail is kept in. Each is removed when its time comes; one that is to be sent, only after that. */
export const KIND = {
  /** What goes out, by email_id. Due at the next try, later when it is to be removed. */
  outbound: 'email',
  /** What came in, by email_id. */
  inbound: 'inbound_email',
  /** Text and attachments, by email_id: apart, so that lists are cheap. */
  content: 'email_content',
  /** `task_id/email_id` */
  ofTask: 'email_of_task',
  /** The mail that an idempotency key stands for. */
  key: 'email_key',
  /** The mail that a foreign Message-ID stands for, by its hash. */
  messageId: 'inbound_key',
  /** What a sender has sent in the current hour. */
  rate: 'email_rate',
  /** The agent that a name in an address belongs to. */
  agentName: 'email_agent',
} as const

const DAY_MS = 24 * 3600 * 1000

/** A duplicate may come as long as providers keep trying, which is days. */
const MIN_KEY_DAYS = 7

/** When things are to be forgotten. */
export class Retention {
  readonly #days: number

  /** 0 days: never. */
  constructor(days: number) {
    this.#days = days
  }

  /** The end of a mail. */
  end(createdAt: number): number | null {
    return this.#days === 0 ? null : createdAt + this.#days * DAY_MS
  }

  /** The end of what tells a second time from a first. */
  endOfKey(createdAt: number): number | null {
    return this.#days === 0 ? null : createdAt + Math.max(this.#days, MIN_KEY_DAYS) * DAY_MS
  }
}

/** A mail and the version that the next write of it must expect. */
export interface Versioned {
  readonly email: Email
  readonly version: number
}

/** Mails as entries. */
export class Records {
  readonly entries: Entries
  readonly retention: Retention

  constructor(entries: Entries, retention: Retention) {
    this.entries = entries
    this.retention = retention
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

  /** Outbound mails whose time has come. */
  async due(tenant: number, now: number, limit: number): Promise<Versioned[]> {
    return (await this.entries.due(tenant, KIND.outbound, now, limit)).map(read)
  }

  /** Undefined if somebody else was quicker. */
  async write(tenant: number, email: Email, expected: number): Promise<Versioned | undefined> {
    const version = await this.entries.put(
      {
        tenant,
        kind: KIND[email.direction],
        name: email.email_id,
        value: JSON.stringify(email),
        due_at: email.status === 'pending' ? email.next_try_at : this.retention.end(email.created_at),
      },
      expected,
    )
    return version === undefined ? undefined : { email, version }
  }

  /** Applies a change to the mail as it is now, however often that changes meanwhile; undefined if it is gone. */
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
      due_at: this.retention.end(email.created_at),
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
      due_at: this.retention.end(email.created_at),
    })
  }

  async idsOfTask(tenant: number, taskId: string, limit: number): Promise<string[]> {
    const prefix = `${taskId}/`
    const entries = await this.entries.list(tenant, KIND.ofTask, prefix, limit)
    return entries.flatMap(({ name }) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  }

  /** All of a mail. */
  async remove(tenant: number, { direction, email_id, task_id }: Email): Promise<void> {
    if (task_id !== null) await this.entries.remove(tenant, KIND.ofTask, `${task_id}/${email_id}`)
    await this.removeContent(tenant, email_id)
    await this.entries.remove(tenant, KIND[direction], email_id)
  }

  /** Removes what is past its end; resolves with how many entries that was. */
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
}

/** What we wrote ourselves. */
function read(entry: Entry): Versioned {
  return { email: JSON.parse(entry.value), version: entry.version }
}
