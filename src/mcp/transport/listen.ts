import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import {
  INVALID_PARAMS,
  ProtocolError,
  ProtocolErrorCode,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { isObject } from '../../util/guards.ts'
import { isOwnUri } from '../reads/own-reads.ts'
import type { ServerDefinition } from '../server.ts'
import { type Call, lookError } from '../tools/tool.ts'
import { tasksRequired } from './capabilities.ts'
import { hasHeaders, readEnvelope } from './envelope.ts'
import { type Listening, type Sink, Subscription } from './subscription.ts'
import { beginEvents, eventOf, type Refusal, sendRefusal } from './wire.ts'

/** The maximum number of open streams in a process. */
export const MAX_STREAMS = 1_024

/** Subscriptions to tasks over HTTP. The SDK serves subscriptions without tasks. */
export class Listen {
  readonly #definition: ServerDefinition
  readonly #bus: ServerEventBus
  #open = 0

  constructor(definition: ServerDefinition, bus: ServerEventBus) {
    this.#definition = definition
    this.#bus = bus
  }

  /** Resolves with false, without side effects, for other requests; otherwise when the stream has ended. */
  async serve(
    headers: IncomingHttpHeaders,
    body: unknown,
    call: Call,
    response: ServerResponse,
  ): Promise<boolean> {
    const { tasks } = this.#definition
    const message = readEnvelope(body)
    if (message === undefined || !hasHeaders(headers, message)) return false
    const asked = listeningIn(message)
    if (asked === undefined) return false
    try {
      await this.#stream(checkListening(asked, call), call, response)
    } catch (error) {
      sendRefusal(response, refusalOf(lookError(error, call, tasks.onError)), message.id)
    }
    return true
  }

  async #stream(asked: Listening, call: Call, response: ServerResponse): Promise<void> {
    if (this.#open >= MAX_STREAMS) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Subscription limit reached')
    }
    this.#open++
    const sink = new EventSink(response, call.signal)
    const subscription = new Subscription(asked, { definition: this.#definition, bus: this.#bus, sink, call })
    try {
      await subscription.run()
    } finally {
      this.#open--
      sink.end()
    }
  }
}

interface Asked extends Omit<Listening, 'taskIds' | 'uris'> {
  readonly taskIds: unknown
  readonly uris: unknown
}

/** A subscription to tasks, or to resources of tasks; undefined for other requests. */
export function listeningIn(message: {
  readonly id: Listening['id']
  readonly method: string
  readonly params: Fields
}): Asked | undefined {
  const { id, method, params } = message
  const { notifications } = params
  if (method !== 'subscriptions/listen' || !isObject(notifications)) return undefined
  const { taskIds, resourceSubscriptions: uris } = notifications
  if (!('taskIds' in notifications) && !(isTexts(uris) && uris.some(isOwnUri))) return undefined
  return { id, notifications, taskIds, uris }
}

export function checkListening({ id, notifications, taskIds, uris = [] }: Asked, call: Call): Listening {
  if ('taskIds' in notifications && call.tasks !== 'handle') throw tasksRequired()
  if ('taskIds' in notifications && !isTexts(taskIds)) {
    throw new ProtocolError(INVALID_PARAMS, "Invalid params: 'notifications.taskIds' is a list of task ids")
  }
  return { id, notifications, taskIds: isTexts(taskIds) ? taskIds : [], uris: isTexts(uris) ? uris : [] }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The same response as that of the SDK. */
export function refusalOf({ code, message, data }: ProtocolError): Refusal {
  const status = code === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200
  return { status, code, message, ...(isObject(data) && { data }) }
}

/** Server-sent events. The first message begins the response. */
class EventSink implements Sink {
  readonly #response: ServerResponse
  readonly #signal: AbortSignal
  #keepAlive: NodeJS.Timeout | undefined

  constructor(response: ServerResponse, signal: AbortSignal) {
    this.#response = response
    this.#signal = signal
  }

  async send(message: object): Promise<boolean> {
    const response = this.#response
    if (response.destroyed) return true
    if (!response.headersSent) this.#keepAlive = beginEvents(response, (text) => response.write(text))
    if (response.write(eventOf(message))) return true
    // A reader that disconnects, or a server that stops, ends the wait.
    const options = { signal: this.#signal }
    await Promise.race([once(response, 'drain', options), once(response, 'close', options)]).catch(() => {})
    return false
  }

  end(): void {
    clearInterval(this.#keepAlive)
    if (this.#response.headersSent) this.#response.end()
  }
}
