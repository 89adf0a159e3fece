import type { ServerResponse } from 'node:http'
import { beginEvents } from './wire.ts'

/** The events of one stream that can be sent again. */
const MAX_EVENTS = 128
const MAX_BYTES = 256 * 1024
/** The events of all streams that can be sent again. */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024

/** The unread bytes after which a client is disconnected. */
const MAX_UNREAD_BYTES = 256 * 1024

/** How soon a client should reconnect. */
const RETRY_MS = 1_000

interface Event {
  readonly n: number
  readonly text: string
}

/** The memory that the sent events of all streams share. The streams that were silent the longest lose theirs first. */
export class EventBudget {
  readonly #streams = new Set<ResumableStream>()
  readonly #max: number
  #used = 0

  constructor(max: number = MAX_TOTAL_BYTES) {
    this.#max = max
  }

  get used(): number {
    return this.#used
  }

  changed(stream: ResumableStream, by: number): void {
    this.#used += by
    this.#streams.delete(stream)
    if (stream.bytes > 0) this.#streams.add(stream)
    for (const oldest of this.#streams) {
      if (this.#used <= this.#max) return
      oldest.forget()
    }
  }
}

/**
 * A stream of server-sent events that survives its connection. Sent events are stored within limits, so that a client
 * that reconnects gets those that it has missed.
 */
export class ResumableStream {
  /** The prefix of the ids of its events. */
  readonly id: string
  /** Called when no connection is left. */
  onDisconnect: (() => void) | undefined
  readonly #budget: EventBudget
  readonly #events: Event[] = []
  #bytes = 0
  #last = 0
  #response: ServerResponse | undefined
  #keepAlive: NodeJS.Timeout | undefined
  #hasEnded = false
  #isAbandoned = false

  constructor(id: string, budget: EventBudget) {
    this.id = id
    this.#budget = budget
  }

  get bytes(): number {
    return this.#bytes
  }

  get isConnected(): boolean {
    return this.#response !== undefined
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * Connects the stream to a response, instead of the one before. A client that supports empty events gets the id of
   * the stream immediately.
   */
  connect(response: ServerResponse, { primes, after }: { primes: boolean; after?: number }): void {
    // A response that is closed already would never be released.
    if (response.destroyed) return
    clearInterval(this.#keepAlive)
    this.#response?.end()
    this.#response = response
    this.#keepAlive = beginEvents(response, (text) => this.#write(text))
    response.once('close', () => {
      if (this.#response === response) this.disconnect()
    })
    if (after !== undefined) {
      for (const { n, text } of this.#events) if (n > after) this.#write(text)
    } else if (primes) {
      this.#write(`id: ${this.id}.${this.#last}\nretry: ${RETRY_MS}\ndata: \n\n`)
    } else {
      this.#write(': connected\n\n')
    }
    if (this.#hasEnded) this.disconnect()
  }

  /** Whether all events after this one are still there. */
  hasAfter(n: number): boolean {
    const first = this.#events[0]?.n ?? this.#last + 1
    return !this.#isAbandoned && n <= this.#last && n >= first - 1
  }

  send(json: string): void {
    if (this.#hasEnded) return
    this.#last++
    const text = `event: message\nid: ${this.id}.${this.#last}\ndata: ${json}\n\n`
    this.#store(text)
    this.#write(text)
  }

  /** Ends the connection; the client can resume the stream. */
  disconnect(): void {
    clearInterval(this.#keepAlive)
    const response = this.#response
    this.#response = undefined
    if (response === undefined) return
    response.end()
    this.onDisconnect?.()
  }

  /** No event follows. */
  end(): void {
    this.#hasEnded = true
    this.disconnect()
  }

  /** The rest of the stream will never be sent. */
  abandon(): void {
    this.#isAbandoned = true
    this.end()
    this.forget()
  }

  /** Releases the memory of the sent events. */
  forget(): void {
    const freed = this.#bytes
    this.#events.length = 0
    this.#bytes = 0
    if (freed > 0) this.#budget.changed(this, -freed)
  }

  #store(text: string): void {
    let by = text.length
    this.#events.push({ n: this.#last, text })
    this.#bytes += text.length
    while (this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES) {
      const dropped = this.#events.shift()?.text.length ?? 0
      this.#bytes -= dropped
      by -= dropped
    }
    this.#budget.changed(this, by)
  }

  #write(text: string): void {
    const response = this.#response
    if (response === undefined || response.destroyed || response.writableEnded) return
    // The events are stored, so a client that reads again can resume.
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy()
    else response.write(text)
  }
}

const EVENT_ID = /^([\w-]{1,200})\.([\w-]{1,40})\.(\d{1,9})$/

export interface EventId {
  readonly stream: string
  readonly n: number
  /** The request whose response the stream carries; undefined for the stream of a session. */
  readonly requestId: string | number | undefined
}

/** The stream of a session that no request has opened. */
const SESSION = 's'

/** Undefined if the request id is too long for a header. */
export function streamId(requestId: string | number | undefined, nonce: string): string | undefined {
  const of = requestId === undefined ? SESSION : Buffer.from(JSON.stringify(requestId)).toString('base64url')
  return of.length > 200 ? undefined : `${of}.${nonce}`
}

/** Undefined for an id that this project did not write. */
export function readEventId(text: string): EventId | undefined {
  const [, of, nonce, n] = EVENT_ID.exec(text) ?? []
  if (of === undefined || nonce === undefined || n === undefined) return undefined
  const found = { stream: `${of}.${nonce}`, n: Number(n) }
  if (of === SESSION) return { ...found, requestId: undefined }
  try {
    const requestId: unknown = JSON.parse(Buffer.from(of, 'base64url').toString('utf8'))
    const isId = typeof requestId === 'string' || typeof requestId === 'number'
    return isId ? { ...found, requestId } : undefined
  } catch {
    return undefined
  }
}
