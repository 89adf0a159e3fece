import type { ServerResponse } from 'node:http'

/** A client that leaves more than this unread is disconnected. It can connect again and read what it missed. */
const MAX_UNREAD_BYTES = 256 * 1024

/** One response of server-sent events. */
class EventStream {
  readonly #response: ServerResponse
  /** The events of one turn of the event loop: a batch of changes is one write. */
  #pending = ''
  #ended = false

  constructor(response: ServerResponse) {
    this.#response = response
  }

  push(text: string): void {
    if (this.#pending === '') setImmediate(() => this.#flush())
    this.#pending += text
  }

  end(): void {
    this.#flush()
    this.#ended = true
    this.#response.end()
  }

  #flush(): void {
    const text = this.#pending
    this.#pending = ''
    const response = this.#response
    if (this.#ended || response.destroyed) return
    if (response.writableLength > MAX_UNREAD_BYTES) {
      response.destroy()
      return
    }
    if (!response.headersSent) {
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
      })
    }
    if (text !== '') response.write(text)
  }
}

const HEARTBEAT_MS = 15_000

/** Open event streams. A periodic comment keeps their connections open. */
export class EventStreams {
  readonly #open = new Set<EventStream>()
  #heartbeat: NodeJS.Timeout | undefined
  #stopped = false

  get count(): number {
    return this.#open.size
  }

  /** Streams events until the client disconnects. `subscribe` returns an unsubscribe function. */
  async serve(
    response: ServerResponse,
    first: string,
    subscribe: (stream: EventStream) => Promise<() => void>,
  ): Promise<void> {
    const stream = new EventStream(response)
    const unsubscribe = await subscribe(stream)
    response.once('close', () => {
      unsubscribe()
      this.#open.delete(stream)
    })
    if (response.destroyed) return unsubscribe()
    this.#open.add(stream)
    stream.push(first)
    if (this.#stopped) stream.end()
    else this.#heartbeat ??= setInterval(() => this.#beat(), HEARTBEAT_MS).unref()
  }

  /** Ends every stream. */
  stop(): void {
    this.#stopped = true
    clearInterval(this.#heartbeat)
    for (const stream of this.#open) stream.end()
  }

  #beat(): void {
    for (const stream of this.#open) stream.push(': still here\n\n')
  }
}
