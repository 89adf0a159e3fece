import type { FetchMessageObject, ImapFlow, ImapFlowOptions } from 'imapflow'
import { loadOptional } from '../util/load-optional.ts'
import type { ImapSettings } from './settings.ts'

/** What becomes of a mail that was looked at. */
export type Verdict = 'archive' | 'failed' | 'leave'

const CONNECT_MS = 15_000
const SILENCE_MS = 60_000

/** Mails that one look at the inbox takes on. */
const PER_VISIT = 100

/** A mailbox. Each use is a connection of its own: nothing of it is remembered here. */
export class Mailbox {
  readonly #settings: ImapSettings
  readonly #maxBytes: number

  constructor(settings: ImapSettings, maxBytes: number) {
    this.#settings = settings
    this.#maxBytes = maxBytes
  }

  /**
   * Shows the mails of the inbox one by one and moves each where the verdict says. One that is too large is not even
   * fetched. Resolves with how many were moved.
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

  /** The mail of a Message-ID, in the archive or the inbox. */
  find(messageId: string): Promise<Buffer | undefined> {
    return this.#connected(async (client) => {
      for (const folder of [this.#settings.archive, this.#settings.inbox]) {
        const bytes = await inFolder(client, folder, messageId, (uid) => this.#fetch(client, uid))
        if (bytes !== undefined) return bytes
      }
      return undefined
    })
  }

  /** Moves a mail out of the inbox, if it is there. */
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
    // Room for the base64 of what may be in it.
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
    // Whatever goes wrong ends the call that is under way; without a listener it would end the process too.
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

/** `Archive/Tasks` is a folder in a folder, whatever the server writes between them. */
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
    socketTimeout: SILENCE_MS,
  }
}
