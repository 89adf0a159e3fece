import type { ServerResponse } from 'node:http'
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server'
import type { JsonPieces } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import type { OpenRequest } from './open-call.ts'
import type { ResumableStream } from './resumable-stream.ts'
import type { ClientSession } from './session.ts'
import { answerOf, beginEvents, eventOf, type RequestId, sendJson, sendPieces } from './wire.ts'

/** Where the messages of one request go. */
export interface MessageSink {
  /** A message before the response. */
  send(message: object): void
  /** The response. */
  finish(message: object): void
}

export interface PostStreamOptions {
  readonly response: ServerResponse
  readonly open: OpenRequest
  readonly requestId: RequestId
  /** Whether the client accepts a stream. If not, messages before the response are dropped. */
  readonly streams: boolean
  readonly session: ClientSession | undefined
  /** Whether the client supports empty events. */
  readonly primes: boolean
}

/**
 * The response to one POST. It is JSON, unless messages are sent before the result: then it is a stream, which the
 * client of a session can resume.
 */
export class PostStream implements MessageSink {
  readonly #options: PostStreamOptions
  #events: ResumableStream | undefined
  #keepAlive: NodeJS.Timeout | undefined
  #grace: NodeJS.Timeout | undefined
  #hasBegun = false
  #isOver = false

  constructor(options: PostStreamOptions) {
    this.#options = options
  }

  get hasBegun(): boolean {
    return this.#hasBegun
  }

  send(message: object): void {
    const { response, session } = this.#options
    if (this.#isOver) {
      // The call is over, but the session is not.
      if ('method' in message && !('id' in message)) session?.forward(message)
      return
    }
    this.begin()
    if (this.#events !== undefined) this.#events.send(JSON.stringify(message))
    else if (this.#hasBegun && !response.destroyed) response.write(eventOf(message))
  }

  /** Begins the stream before the first message, so that the connection is kept alive. */
  begin(): void {
    const { response, session, requestId, primes, open, streams } = this.#options
    if (!streams || this.#hasBegun || this.#isOver) return
    this.#hasBegun = true
    this.#events = session?.responseStream(requestId)
    if (this.#events === undefined) {
      this.#keepAlive = beginEvents(response, (text) => response.write(text))
      response.once('close', () => clearInterval(this.#keepAlive))
      return
    }
    const events = this.#events
    open.outliveConnection()
    events.onDisconnect = () => {
      if (this.#isOver) return
      if (events.hasEnded) return open.leave()
      clearTimeout(this.#grace)
      this.#grace = setTimeout(() => {
        if (!events.isConnected) open.leave()
      }, session?.resumeMs).unref()
    }
    events.connect(response, { primes })
    // The client has left before it could learn of the stream.
    if (!events.isConnected) open.leave()
  }

  /** Ends the connection but not the call: the client polls with new connections. */
  disconnect(): void {
    this.begin()
    this.#events?.disconnect()
  }

  /** There is no client for the response. */
  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#grace)
    clearInterval(this.#keepAlive)
    this.#events?.abandon()
    this.#options.response.destroy()
  }

  finish(message: object): void {
    this.#finish(JSON.stringify(message))
  }

  /** Sends a result that is already written. */
  async finishWith(result: string | JsonPieces): Promise<void> {
    const { response, requestId } = this.#options
    const answer = answerOf(requestId, result)
    if (typeof answer === 'string') this.#finish(answer)
    else if (this.#hasBegun) this.#finish([...answer].join(''))
    else await sendPieces(response, answer)
  }

  #finish(json: string): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#grace)
    const { response } = this.#options
    clearInterval(this.#keepAlive)
    if (!this.#hasBegun) {
      sendJson(response, 200, json)
    } else if (this.#events !== undefined) {
      this.#events.send(json)
      this.#events.end()
    } else if (!response.destroyed) {
      response.end(`event: message\ndata: ${json}\n\n`)
    }
  }
}

/** Connects a server of the SDK to the request and the response of one exchange. */
export class SinkTransport implements Transport {
  onmessage: Transport['onmessage']
  onclose: Transport['onclose']
  onerror: Transport['onerror']
  /** Resolves when the response has been sent, or when it is no longer needed. */
  readonly done: Promise<void>
  giveUp = () => {}
  readonly #sink: MessageSink

  constructor(sink: MessageSink) {
    this.#sink = sink
    this.done = new Promise((resolve) => {
      this.giveUp = resolve
    })
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
      this.#sink.finish(message)
      this.giveUp()
    } else {
      this.#sink.send(message)
    }
  }

  async close(): Promise<void> {
    this.onclose?.()
  }
}

/** The id of the task that a tool call of 2025-11-25 has created. */
export function taskOf(message: object): string | undefined {
  const result = 'result' in message && isObject(message.result) ? message.result : undefined
  const task = isObject(result?.task) ? result.task : undefined
  return typeof task?.taskId === 'string' ? task.taskId : undefined
}
