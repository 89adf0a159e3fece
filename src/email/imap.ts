import type { FetchMessageObject, ImapFlow, ImapFlowOptions } from 'imapflow'
import { loadOptional } from '../util/load-optional.ts'
import type { ImapSettings } from './settings.ts'

/** What to do with an email. */
export type Verdict = 'archive' | 'failed' | 'leave'

const CONNECT_MS = 15_000
const IDLE_MS = 60_000

/** The maximum number of emails per visit. */
const PER_VISIT = 100

/** An IMAP mailbox. Each use opens a new connection. */
export class Mailbox {
  readonly #settings: ImapSettings
  readonly #maxBytes: number

  constructor(settings: ImapSettings, maxBytes: number) {
    this.#settings = settings
    this.#maxBytes = maxBytes
  }

  /**
   * Passes each email of the inbox to `judge` and moves it as the verdict says. Emails that are too large are not fetched.
   * Resolves with the number of moved emails.
   */
  visit(judge: (bytes: Buffer) => Promise<Verdict>, signal: AbortSignal): Promise<number> {
    const { inbox, archive, failed } = this.#settings
    return this.#connected(async (client) => {
      await makeFolders(client, [archive, failed])
      const lock = await client.getMailboxLock(pathOf(inbox))
      let moved = 0
      try {
        const uids = (await client.search({ all: true }, { uid: true })) || []
        for (const uid of uids.slice(0, PER_VISIT)) {
          if (signal.aborted) break
          const verdict = await this.#judge(client, uid, judge)
          if (verdict === 'leave') continue
          await client.messageMove(String(uid), pathOf(verdict === 'archive' ? archive : failed), {
            uid: true,
          })
          moved++
        }
      } finally {
        lock.release()
      }
      return moved
    })
  }

  /** Finds an email in the archive or the inbox by its Message-ID. */
  find(messageId: string): Promise<Buffer | undefined> {
    return this.#connected(async (client) => {
      for (const folder of [this.#settings.archive, this.#settings.inbox]) {
        const bytes = await inFolder(client, folder, messageId, (uid) => this.#fetch(client, uid))
        if (bytes !== undefined) return bytes
      }
      return undefined
    })
  }

  /** Moves an email from the inbox to the archive, if it is there. */
  archive(messageId: string): Promise<boolean> {
    const { inbox, archive } = this.#settings
    return this.#connected(async (client) => {
      await makeFolders(client, [archive])
      const moved = await inFolder(client, inbox, messageId, (uid) =>
        client.messageMove(String(uid), pathOf(archive), { uid: true }),
      )
      return moved !== undefined
    })
  }

  async #judge(client: ImapFlow, uid: number, judge: (bytes: Buffer) => Promise<Verdict>): Promise<Verdict> {
    const sized = await client.fetchOne(String(uid), { size: true }, { uid: true })
    if (!sized) return 'leave'
    // Allows for base64 encoding.
    if ((sized.size ?? 0) > this.#maxBytes * 1.5 + 64 * 1024) return 'failed'
    const bytes = await this.#fetch(client, uid)
    return bytes === undefined ? 'leave' : judge(bytes)
  }

  async #fetch(client: ImapFlow, uid: number): Promise<Buffer | undefined> {
    const found: FetchMessageObject | false | undefined = await client.fetchOne(
      String(uid),
      { source: true },
      { uid: true },
    )
    return found ? found.source : undefined
  }

  async #connected<T>(use: (client: ImapFlow) => Promise<T>): Promise<T> {
    const { ImapFlow } = await loadOptional('imapflow', 'Fetching email over IMAP', () => import('imapflow'))
    const client = new ImapFlow(optionsOf(this.#settings))
    // An error rejects the pending call. Without a listener it would also end the process.
    client.on('error', () => {})
    await client.connect()
    try {
      return await use(client)
    } finally {
      await client.logout().catch(() => client.close())
    }
  }
}

async function inFolder<T>(
  client: ImapFlow,
  folder: string,
  messageId: string,
  use: (uid: number) => Promise<T>,
): Promise<T | undefined> {
  if (!(await hasFolder(client, folder))) return undefined
  const lock = await client.getMailboxLock(pathOf(folder))
  try {
    const found = await client.search({ header: { 'message-id': `<${messageId}>` } }, { uid: true })
    const [uid] = found || []
    return uid === undefined ? undefined : await use(uid)
  } finally {
    lock.release()
  }
}

async function makeFolders(client: ImapFlow, folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    if (!(await hasFolder(client, folder))) await client.mailboxCreate(pathOf(folder))
  }
}

async function hasFolder(client: ImapFlow, folder: string): Promise<boolean> {
  const status = await client.status(pathOf(folder), { messages: true }).catch(() => false)
  return status !== false
}

/** `Archive/Tasks` is a nested folder, regardless of the delimiter of the server. */
function pathOf(folder: string): string[] {
  return folder.split('/')
}

function optionsOf({ host, port, user, password, tls }: ImapSettings): ImapFlowOptions {
  return {
    host,
    port,
    secure: tls === 'implicit',
    ...(tls !== 'implicit' && { doSTARTTLS: tls === 'starttls' }),
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
  }
}
