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
  /** Hears each line that the program writes to stderr. */
  readonly onStderr?: ((line: string) => void) | undefined
}

const MAX_COMPLAINT = 300
const LAST_WORDS_MS = 100
/** Time for the program to end by itself after the end of its input. */
const GRACE_MS = 2_000

/**
 * MCP over the standard streams of a program of ours. The SDK has one too, but its programs may leave children behind,
 * and an answer that is too large ends the connection there.
 */
export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T) => void
  readonly #options: StdioOptions
  readonly #lines: LineReader
  /** The largest answer to each request that has none yet. */
  readonly #allowed = new Map<MessageId, number>()
  #delivered: Promise<void> = Promise.resolve()
  #group: ProcessGroup | undefined
  #isClosed = false
  /** The last line on stderr. */
  #complaint = ''
  /** How it ended. */
  #ending: string | undefined

  constructor(options: StdioOptions) {
    this.#options = options
    this.#lines = new LineReader(Math.max(options.limits.call, options.limits.other))
  }

  /** By these two the SDK knows that silence means an older server, and not an outage. */
  get pid(): number | undefined {
    return this.#group?.pid
  }

  get stderr(): null {
    return null
  }

  /** Why the program has ended; undefined as long as it runs. */
  get ending(): string | undefined {
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
    void group.exited.then(async ({ code, signal }) => {
      this.#group = undefined
      await lastWords(group)
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      this.#ending = `the program ended ${how}${this.#complaint === '' ? '' : `: ${this.#complaint}`}`
      // Children may hold the pipes open; what they write is of no use any more.
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
    // Programs that print other things on stdout are wrong, and common.
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

  /** If nobody knows whose answer it was, whoever waits for it would wait in vain: so the connection ends. */
  #refuse(id: MessageId | undefined): void {
    if (id === undefined) {
      this.#complaint = 'a message was too large'
      this.#group?.kill()
      return
    }
    this.#allowed.delete(id)
    this.#deliver(standIn(id, TOO_LARGE))
  }

  /** One after the other: the SDK takes a result at once and a notification a little later, even if it came first. */
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

/** What a program wrote last may still be in its pipes when it has ended. A child of it may hold them open for ever. */
async function lastWords({ stdout, stderr }: ProcessGroup): Promise<void> {
  const read = Promise.all([stdout, stderr].map((stream) => finished(stream, { writable: false })))
  await Promise.race([read.catch(() => {}), delay(LAST_WORDS_MS, undefined, { ref: false })])
}
