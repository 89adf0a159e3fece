import type { Exchange } from './exchange.ts'

/** What a client may leave unread before it is cut off. It can connect again, and read what it missed. */
const MAX_UNREAD_BYTES = 256 * 1024

/** One answer made of server-sent events. */
export class EventStream {
  readonly #exchange: Exchange
  /** Of this turn of the event loop: a batch of changes is one write, and no client is too slow for it. */
  #pending = ''
  #ended = false

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  push(text: string): void {
    if (this.#pending === '') setImmediate(() => this.#flush())
    this.#pending += text
  }

  end(): void {
    this.#flush()
    this.#ended = true
    this.#exchange.response.end()
  }

  #flush(): void {
    const text = this.#pending
    this.#pending = ''
    const { response, id } = this.#exchange
    if (this.#ended || response.destroyed) return
    if (response.writableLength > MAX_UNREAD_BYTES) {
      response.destroy()
      return
    }
    if (!response.headersSent) {
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'X-Request-Id': id,
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
        'X-Content-Type-Options': 'nosniff',
      })
    }
    if (text !== '') response.write(text)
  }
}
