import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { ProcessGroup, type Program } from '../../util/process-group.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import {
  type AnswerLimits,
  cancelledId,
  idInEnds,
  limitFor,
  type MessageId,
  requestId,
  standIn,
  TOO_LARGE,
} from './answers.ts'
import { LineReader } from './line-reader.ts'

export interface StdioOptions {
  readonly program: Program
  readonly limits: AnswerLimits
  readonly deserialize: (line: string) => JSONRPCMessage
  /** Receives each line of stderr. */
  readonly onStderr?: ((line: string) => void) | undefined
}

const MAX_COMPLAINT = 300
const LAST_WORDS_MS = 100
/** How long the program may take to exit after its stdin is closed. */
const GRACE_MS = 2_000

/** How long the exit of a program may take to be reported after a write to it has failed. */
const EXIT_REPORT_MS = 1_000

/**
 * MCP over stdio. Unlike the transport of the SDK, it also ends child processes of the program, and a response that is
 * too large does not close the connection.
 */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T) => void
  readonly #options: StdioOptions
  readonly #lines: LineReader
  /** The size limit of each response that is still expected. */
  readonly #allowed = new Map<MessageId, number>()
  #delivered: Promise<void> = Promise.resolve()
  #group: ProcessGroup | undefined
  #isClosed = false
  /** The last line on stderr. */
  #complaint = ''
  #ending: string | undefined
  #exit: Promise<void> | undefined

  constructor(options: StdioOptions) {
    this.#options = options
    this.#lines = new LineReader(Math.max(options.limits.call, options.limits.other))
  }

  /** The SDK checks `pid` and `stderr` to decide that a silent server is a legacy server. */
  get pid(): number | undefined {
    return this.#group?.pid
  }

  get stderr(): null {
    return null
  }

  /** Why the program has ended; undefined while it runs. */
  get ending(): string | undefined {
    return this.#ending
  }

  /** Like `ending`, but waits for an exit in progress: a write to an exiting program fails before its exit is reported. */
  async endingSoon(): Promise<string | undefined> {
    await Promise.race([this.#exit, delay(EXIT_REPORT_MS, undefined, { ref: false })])
    return this.#ending
  }

  async start(): Promise<void> {
    const group = await ProcessGroup.start(this.#options.program)
    this.#group = group
    if (this.#isClosed) group.kill()
    group.stdin.on('error', (error) => this.onerror?.(error))
    group.stdout.on('error', (error) => this.onerror?.(error))
    group.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#listenToComplaints(group)
    this.#exit = group.exited.then(async ({ code, signal }) => {
      this.#group = undefined
      await lastWords(group)
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      this.#ending = `the program ended ${how}${this.#complaint === '' ? '' : `: ${this.#complaint}`}`
      // Child processes may keep the pipes open.
      group.stdout.destroy()
      group.stderr.destroy()
      this.onclose?.()
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const group = this.#group
    if (group === undefined) return Promise.reject(new Error('Not connected'))
    const id = requestId(message)
    if (id !== undefined) this.#allowed.set(id, limitFor(message, this.#options.limits))
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#allowed.delete(cancelled)
    return new Promise((resolve, reject) => {
      group.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#group?.stdin.end()
    await this.#group?.stop(GRACE_MS)
  }

  #receive(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if ('text' in line) this.#read(line.text)
      else this.#refuse(idInEnds(line.head, line.tail))
    }
  }

  #read(text: string): void {
    // Programs often print other text on stdout.
    if (!text.trimStart().startsWith('{')) return
    let message: JSONRPCMessage
    try {
      message = this.#options.deserialize(text)
    } catch {
      this.onerror?.(new Error('a line is not a message'))
      return
    }
    const answered = 'method' in message ? undefined : message.id
    const limit = answered === undefined ? undefined : this.#allowed.get(answered)
    if (answered !== undefined) this.#allowed.delete(answered)
    const isTooLarge = limit !== undefined && text.length > limit / 4 && Buffer.byteLength(text) > limit
    if (isTooLarge) this.#refuse(answered)
    else this.#deliver(message)
  }

  /** Without the id no caller could be notified, so the connection is closed. */
  #refuse(id: MessageId | undefined): void {
    if (id === undefined) {
      this.#complaint = 'a message was too large'
      this.#group?.kill()
      return
    }
    this.#allowed.delete(id)
    this.#deliver(standIn(id, TOO_LARGE))
  }

  /** In order: the SDK handles a result immediately but a notification later, even if it came first. */
  #deliver(message: JSONRPCMessage): void {
    this.#delivered = this.#delivered.then(() => this.onmessage?.(message))
  }

  #listenToComplaints(group: ProcessGroup): void {
    const lines = new LineReader(MAX_COMPLAINT * 4)
    group.stderr.on('error', () => {})
    group.stderr.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk)) {
        const text = cleanLine('text' in line ? line.text : line.head, MAX_COMPLAINT)
        if (text === '') continue
        this.#complaint = text
        this.#options.onStderr?.(text)
      }
    })
  }
}

/** Reads what is left in the pipes of a program that has ended. A child process may keep the pipes open. */
async function lastWords({ stdout, stderr }: ProcessGroup): Promise<void> {
  const read = Promise.all([stdout, stderr].map((stream) => finished(stream, { writable: false })))
  await Promise.race([read.catch(() => {}), delay(LAST_WORDS_MS, undefined, { ref: false })])
}
