import type { ServerResponse } from 'node:http'
import type { Fields } from '../../auth/caller.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Fault } from '../../core/errors.ts'
import type { RequestOrigin } from '../../core/principal.ts'
import { isObject } from '../../util/guards.ts'
import type { Listing } from '../tools/listing.ts'
import type { Call, Repeat, TaskMode } from '../tools/tool.ts'
import { type RequestId, requestIdOf } from './wire.ts'

/** The abort reason of calls that the server ends. Their clients have not canceled them. */
export const SERVER_STOPS = new Error('The server stops.')

/** Whether the client has canceled or closed the call, and not the server. */
export function hasLeft(signal: AbortSignal): boolean {
  return signal.aborted && signal.reason !== SERVER_STOPS
}

/** A running request. Its signal is created on demand, because most requests never need it. */
export class OpenRequest {
  readonly #response: ServerResponse
  #controller: AbortController | undefined
  #isOver: boolean
  #outlivesConnection = false

  constructor(response: ServerResponse, isOver: boolean) {
    this.#response = response
    this.#isOver = isOver
  }

  /** Aborted when the client disconnects or the server stops. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      const response = this.#response
      const controller = this.#controller
      if (this.#isOver) controller.abort(SERVER_STOPS)
      else if (response.destroyed && !this.#outlivesConnection) controller.abort()
      response.once('close', () => {
        if (!response.writableFinished && !this.#outlivesConnection) controller.abort()
      })
    }
    return this.#controller.signal
  }

  /** The client can resume the response with another connection, so that a disconnect does not end the request. */
  outliveConnection(): void {
    this.#outlivesConnection = true
  }

  /** The client has left. */
  leave(): void {
    if (this.signal.aborted) return
    this.#controller?.abort()
  }

  end(): void {
    this.#isOver = true
    this.#controller?.abort(SERVER_STOPS)
  }
}

export class OpenCall implements Call {
  readonly credential: Credential
  readonly requestId: string | undefined
  readonly flaw: Fault | undefined
  readonly meta: Fields | undefined
  readonly tasks: TaskMode | undefined
  readonly repeat: Repeat | undefined
  readonly streams: boolean
  readonly listing: Listing | undefined
  readonly origin: RequestOrigin | undefined
  readonly onRefused: ((fault: Fault) => void) | undefined
  readonly #request: OpenRequest

  constructor(facts: Omit<OpenCall, 'signal'>, request: OpenRequest) {
    this.credential = facts.credential
    this.requestId = facts.requestId
    this.flaw = facts.flaw
    this.meta = facts.meta
    this.tasks = facts.tasks
    this.repeat = facts.repeat
    this.streams = facts.streams
    this.listing = facts.listing
    this.origin = facts.origin
    this.onRefused = facts.onRefused
    this.#request = request
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }
}

/** What a connection adds to a call. */
type Connected = Pick<Call, 'client' | 'peer'>

/** The call, ended also by the signal, if there is one. Signals are created on demand. */
export function during(call: Call, signal: AbortSignal | undefined, connected: Connected = call): Call {
  const { credential, requestId, flaw, meta, tasks, repeat, streams, listing, origin, onRefused } = call
  return {
    credential,
    client: connected.client,
    requestId,
    flaw,
    meta,
    tasks,
    repeat,
    streams,
    listing,
    origin,
    onRefused,
    get peer() {
      return connected.peer
    },
    get signal() {
      return signal === undefined ? call.signal : AbortSignal.any([call.signal, signal])
    },
  }
}

export interface CancelableCall {
  readonly signal: AbortSignal
  /** Call this when the call has ended. */
  end(): void
}

const CANCELED = 'notifications/cancelled'

/**
 * The held calls of legacy clients. A client cancels a call by its id in another request; ids are only unique within a
 * session, so clients without a session cannot cancel.
 */
export class OpenCalls {
  readonly #open = new Map<string, AbortController>()

  get size(): number {
    return this.#open.size
  }

  /** Undefined if the message is not a request of a session. */
  begin(message: unknown, call: Call): CancelableCall | undefined {
    const id = requestIdOf(message)
    const key = id === null ? undefined : keyOf(call, id)
    if (key === undefined) return undefined
    const controller = new AbortController()
    // A duplicate id stands for the later call.
    this.#open.set(key, controller)
    return {
      signal: controller.signal,
      end: () => {
        if (this.#open.get(key) === controller) this.#open.delete(key)
      },
    }
  }

  /** Cancels the call that a cancellation names. Other messages are ignored. */
  heard(message: unknown, call: Call): void {
    if (!isObject(message) || message.method !== CANCELED || !isObject(message.params)) return
    const { requestId, reason } = message.params
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return
    const key = keyOf(call, requestId)
    if (key !== undefined) this.#open.get(key)?.abort(reason)
  }
}

/** A session belongs to one credential. */
function keyOf({ credential, client }: Call, id: RequestId): string | undefined {
  if (client === undefined) return undefined
  const who = credential.kind === 'bound' ? credential.principal : null
  return JSON.stringify([credential.tenant, who, client.instance, id])
}
