import {
  isJSONRPCNotification,
  type JSONRPCMessage,
  type MessageExtraInfo,
  ProtocolError,
  ProtocolErrorCode,
  parseJSONRPCMessage,
  type ServerEventBus,
  type Transport,
} from '@modelcontextprotocol/server'
import { isObject } from '../../util/guards.ts'
import type { ServerDefinition } from '../server.ts'
import { type Call, lookError } from '../tools/tool.ts'
import { readMeta } from './capabilities.ts'
import { type Enveloped, readEnvelope } from './envelope.ts'
import { checkListening, listeningIn, MAX_STREAMS, refusalOf } from './listen.ts'
import { type PeerRequests, type PeerResponse, readResponse } from './peer.ts'
import { Subscription } from './subscription.ts'
import { type RequestId, refusalBody } from './wire.ts'

export interface StdioListenOptions {
  readonly definition: ServerDefinition
  readonly bus: ServerEventBus
  readonly credential: Call['credential']
  /** The requests to the client that wait for a response. */
  readonly requests: PeerRequests
}

interface Open {
  readonly ending: AbortController
  readonly ended: Promise<void>
  isMuted: boolean
}

/**
 * A connection that supports subscriptions to tasks, which the SDK does not, and requests to the client whose ids are
 * strings. All other messages pass through.
 */
export class ListeningTransport implements Transport {
  onmessage: Transport['onmessage']
  onclose: Transport['onclose']
  onerror: Transport['onerror']
  readonly #wire: Transport
  readonly #options: StdioListenOptions
  readonly #open = new Map<RequestId, Open>()

  constructor(wire: Transport, options: StdioListenOptions) {
    this.#wire = wire
    this.#options = options
    wire.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
      if (!this.#take(message)) this.onmessage?.(message, extra)
    }
    wire.onclose = () => {
      for (const { ending } of this.#open.values()) ending.abort()
      this.#options.requests.close()
      this.onclose?.()
    }
    wire.onerror = (error) => this.onerror?.(error)
  }

  start(): Promise<void> {
    return this.#wire.start()
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.#wire.send(message)
  }

  /** Sends a message that the SDK does not know of. */
  sendToClient(message: object): void {
    void this.#say(message)
  }

  /** Ends the subscriptions first. */
  async close(): Promise<void> {
    const open = [...this.#open.values()]
    for (const { ending } of open) ending.abort()
    await Promise.all(open.map(({ ended }) => ended))
    await this.#wire.close()
  }

  #take(message: JSONRPCMessage): boolean {
    if (isJSONRPCNotification(message)) return this.#cancels(message)
    const response = readResponse(message)
    if (response !== undefined) {
      this.#respond(response)
      return true
    }
    const enveloped = readEnvelope(message)
    const isOurs = enveloped !== undefined && listeningIn(enveloped) !== undefined
    if (isOurs) this.#listen(enveloped)
    return isOurs
  }

  #respond(response: PeerResponse): void {
    const { credential, definition, requests } = this.#options
    if (requests.settle(response)) return
    const call: Call = { credential, signal: new AbortController().signal }
    void definition.onUnmatchedResponse?.(response, call).catch(definition.tasks.onError)
  }

  /** A canceled subscription sends no further message. */
  #cancels({ method, params }: { method: string; params?: unknown }): boolean {
    if (method !== 'notifications/cancelled' || !isObject(params)) return false
    const { requestId } = params
    const open =
      typeof requestId === 'string' || typeof requestId === 'number' ? this.#open.get(requestId) : undefined
    if (open === undefined) return false
    open.isMuted = true
    open.ending.abort()
    return true
  }

  #listen(message: Enveloped): void {
    const ending = new AbortController()
    const open: Open = { ending, isMuted: false, ended: this.#serve(message, ending.signal) }
    if (!this.#open.has(message.id)) this.#open.set(message.id, open)
    void open.ended.then(() => {
      if (this.#open.get(message.id) === open) this.#open.delete(message.id)
    })
  }

  async #serve(message: Enveloped, signal: AbortSignal): Promise<void> {
    const { credential, definition, bus } = this.#options
    const { id } = message
    const call: Call = { credential, signal, ...readMeta(message.params) }
    const sink = {
      send: async (text: object) => {
        if (!this.#open.get(id)?.isMuted) await this.#say(text)
        return true
      },
    }
    try {
      this.#checkRoom(id)
      const asked = listeningIn(message)
      if (asked === undefined) return
      await new Subscription(checkListening(asked, call), { definition, bus, sink, call }).run()
    } catch (error) {
      await this.#say(refusalBody(refusalOf(lookError(error, call, definition.tasks.onError)), id))
    }
  }

  #checkRoom(id: RequestId): void {
    if (this.#open.has(id)) throw new ProtocolError(ProtocolErrorCode.InvalidRequest, 'This id is in use')
    if (this.#open.size >= MAX_STREAMS) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Subscription limit reached')
    }
  }

  /** The client may have disconnected. */
  async #say(message: object): Promise<void> {
    await this.#wire
      .send(parseJSONRPCMessage(message))
      .catch((error: unknown) => this.#options.definition.tasks.onError(error))
  }
}
