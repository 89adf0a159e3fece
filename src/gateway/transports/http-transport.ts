import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  StreamableHTTPClientTransportOptions,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client'
import type { EgressSettings } from '../../egress/settings.ts'
import {
  type AnswerLimits,
  cancelledId,
  limitFor,
  type MessageId,
  requestId,
  STREAM_ENDED,
  standIn,
} from './answers.ts'
import { EXCHANGE_HEADER, type Exchange, guardedMcpFetch } from './http-fetch.ts'

export interface HttpOptions {
  readonly url: string
  /** Include the credentials, which are sent to this origin only. */
  readonly headers: Readonly<Record<string, string>>
  readonly egress: Partial<EgressSettings>
  readonly limits: AnswerLimits
  readonly connectTimeoutMs: number
  readonly open: (url: URL, options: StreamableHTTPClientTransportOptions) => StreamableHTTPClientTransport
}

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>

/** A notification stream that breaks is opened again without limit. */
const RECONNECTION = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 60_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: Number.POSITIVE_INFINITY,
}

/**
 * The transport of the SDK over the guarded fetch. In addition, a call whose stream breaks fails immediately and not at
 * its timeout, and the stream of a cancelled call is closed.
 */
export class HttpTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T) => void
  readonly hasPerRequestStream = true
  readonly #inner: StreamableHTTPClientTransport
  readonly #limits: AnswerLimits
  /** The messages that are being sent, by a key that only this process sees. */
  readonly #sending = new Map<string, Exchange>()
  #sent = 0
  readonly #open = new Map<MessageId, Exchange>()

  constructor({ url, headers, egress, limits, connectTimeoutMs, open }: HttpOptions) {
    this.#limits = limits
    const fetch = guardedMcpFetch({
      origin: new URL(url).origin,
      headers,
      egress,
      connectTimeoutMs,
      maxBytes: Math.max(limits.call, limits.other),
      exchange: (key) => this.#sending.get(key),
    })
    this.#inner = open(new URL(url), { fetch, reconnectionOptions: RECONNECTION })
    this.#inner.onclose = () => this.onclose?.()
    this.#inner.onerror = (error) => this.onerror?.(error)
    this.#inner.onmessage = (message: JSONRPCMessage) => this.#receive(message)
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version)
  }

  start(): Promise<void> {
    return this.#inner.start()
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const id = requestId(message)
    if (id === undefined) {
      await this.#send(message, { isRequest: false }, {})
      const cancelled = cancelledId(message)
      if (cancelled !== undefined) this.#end(cancelled)
      return
    }
    const stop = new AbortController()
    const exchange: Exchange = { isRequest: true, id, maxBytes: limitFor(message, this.#limits), stop }
    this.#open.set(id, exchange)
    options.requestSignal?.addEventListener('abort', () => this.#open.delete(id), { once: true })
    try {
      await this.#send(message, exchange, {
        ...(options.headers && { headers: options.headers }),
        requestSignal: options.requestSignal
          ? AbortSignal.any([options.requestSignal, stop.signal])
          : stop.signal,
        onRequestStreamEnd: () => {
          options.onRequestStreamEnd?.()
          if (this.#open.delete(id) && options.onRequestStreamEnd === undefined) {
            this.onmessage?.(standIn(id, STREAM_ENDED))
          }
        },
      })
    } catch (error) {
      this.#open.delete(id)
      throw error
    }
  }

  /** Ends the session of a legacy server. */
  async close(): Promise<void> {
    for (const id of [...this.#open.keys()]) this.#end(id)
    await this.#inner.terminateSession().catch(() => {})
    await this.#inner.close()
  }

  /** The SDK does not pass the message to fetch, so a header does. */
  async #send(message: JSONRPCMessage, exchange: Exchange, options: SendOptions): Promise<void> {
    const key = String(this.#sent++)
    this.#sending.set(key, exchange)
    try {
      await this.#inner.send(message, { ...options, headers: { ...options.headers, [EXCHANGE_HEADER]: key } })
    } finally {
      this.#sending.delete(key)
    }
  }

  #receive(message: JSONRPCMessage): void {
    if (!('method' in message) && message.id !== undefined) this.#open.delete(message.id)
    this.onmessage?.(message)
  }

  #end(id: MessageId): void {
    this.#open.get(id)?.stop?.abort()
    this.#open.delete(id)
  }
}
