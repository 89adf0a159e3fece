import { randomUUID } from 'node:crypto'
import type { LoggingLevel } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import { Fault } from '../../core/errors.ts'
import { isObject } from '../../util/guards.ts'

/** What a client may offer to the server, each with its letter in the session id. */
const LETTERS = {
  'elicitation.form': 'f',
  'elicitation.url': 'u',
  sampling: 's',
  'sampling.tools': 't',
  roots: 'r',
} as const

export type PeerCapability = keyof typeof LETTERS
export type PeerCapabilities = ReadonlySet<PeerCapability>

const NAMES: readonly PeerCapability[] = [
  'elicitation.form',
  'elicitation.url',
  'sampling',
  'sampling.tools',
  'roots',
]

/** One set for each combination, because every session refers to one. */
const sets = new Map<string, PeerCapabilities>()

function setOf(has: (name: PeerCapability) => boolean): PeerCapabilities {
  const names = new Set(NAMES.filter(has))
  const key = lettersOf(names)
  const known = sets.get(key) ?? names
  sets.set(key, known)
  return known
}

export function lettersOf(capabilities: PeerCapabilities): string {
  return NAMES.map((name) => (capabilities.has(name) ? LETTERS[name] : '')).join('')
}

/** Other characters are ignored. */
export function capabilitiesOfLetters(letters: string): PeerCapabilities {
  return setOf((name) => letters.includes(LETTERS[name]))
}

/** Reads the capabilities of a handshake. Elicitation without a mode means forms. */
export function peerCapabilities(declared: unknown): PeerCapabilities {
  const { elicitation, sampling, roots } = isObject(declared) ? declared : {}
  const { form, url } = isObject(elicitation) ? elicitation : {}
  const offered: Readonly<Record<PeerCapability, boolean>> = {
    'elicitation.form': isObject(elicitation) && (isObject(form) || !isObject(url)),
    'elicitation.url': isObject(url),
    sampling: isObject(sampling),
    'sampling.tools': isObject(sampling) && isObject(sampling.tools),
    roots: isObject(roots),
  }
  return setOf((name) => offered[name])
}

/** The client at the other end of a connection, to which the server can send messages during a call. */
export interface ClientPeer {
  readonly capabilities: PeerCapabilities
  /**
   * Resolves with the result of the client. Rejects with a PeerError if the client responds with an error, with the
   * abort reason if the signal is aborted, and with a Fault if the session ends.
   */
  request(method: string, params: Fields, options?: PeerRequestOptions): Promise<Fields>
  /** Log messages below the level of the client are dropped. */
  notify(method: string, params: Fields): void
  /** Undefined if the client has not set one. */
  readonly logLevel: LoggingLevel | undefined
  setLogLevel(level: LoggingLevel): void
  /** Whether the client now gets the updates of the resource, until `stop`; false if it has too many subscriptions. */
  subscribe(uri: string, stop: () => void): boolean
  unsubscribe(uri: string): void
}

export interface PeerRequestOptions {
  /** An id under which the response is recognized on any server. By default an unguessable one. */
  readonly id?: string
  /** The client is told that the request is canceled. */
  readonly signal?: AbortSignal
}

/** The error with which a client has responded. */
export class PeerError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** A response of a client to a request of the server. */
export type PeerResponse =
  | { readonly id: string; readonly result: Fields }
  | { readonly id: string; readonly error: PeerError }

/** Undefined for other messages. The ids of requests to clients are strings. */
export function readResponse(message: unknown): PeerResponse | undefined {
  if (!isObject(message) || 'method' in message || typeof message.id !== 'string') return undefined
  const { id, result, error } = message
  if (isObject(result)) return { id, result }
  if (!isObject(error)) return undefined
  const { code, message: text, data } = error
  return { id, error: new PeerError(Number(code), typeof text === 'string' ? text : 'Error', data) }
}

/** Sends a message to the client. */
export type SendToPeer = (message: object) => void

/** Further requests to one client are refused. */
const MAX_WAITING = 64

interface Waiter {
  resolve(result: Fields): void
  reject(error: unknown): void
}

/** The requests to one client that wait for a response. Several requests with the same id get the same response. */
export class PeerRequests {
  readonly #waiting = new Map<string, Set<Waiter>>()

  get size(): number {
    return this.#waiting.size
  }

  async request(
    send: SendToPeer,
    method: string,
    params: Fields,
    { id = randomUUID(), signal }: PeerRequestOptions = {},
  ): Promise<Fields> {
    signal?.throwIfAborted()
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(id)) {
      throw new Fault('OVERLOADED', {}, 'The client has not responded to earlier requests.')
    }
    let onAbort = () => {}
    const response = new Promise<Fields>((resolve, reject) => {
      const waiter = { resolve, reject }
      const waiters = this.#waiting.get(id) ?? new Set()
      this.#waiting.set(id, waiters.add(waiter))
      onAbort = () => {
        waiters.delete(waiter)
        if (waiters.size === 0 && this.#waiting.get(id) === waiters) {
          this.#waiting.delete(id)
          send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        }
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
    })
    try {
      send({ jsonrpc: '2.0', id, method, params })
      return await response
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Whether a request was waiting for this response. */
  settle(response: PeerResponse): boolean {
    const waiters = this.#waiting.get(response.id)
    if (waiters === undefined) return false
    this.#waiting.delete(response.id)
    for (const { resolve, reject } of waiters) {
      if ('result' in response) resolve(response.result)
      else reject(response.error)
    }
    return true
  }

  /** The client has left. */
  close(): void {
    const all = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const waiters of all) {
      for (const { reject } of waiters) reject(new Fault('MCP_SESSION_NOT_FOUND'))
    }
  }
}

const LEVELS: readonly unknown[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] satisfies LoggingLevel[]

/** The resources that one client can subscribe to. */
const MAX_SUBSCRIPTIONS = 256

/** What the server holds for the client of one connection or session. */
export class PeerState {
  readonly requests = new PeerRequests()
  /** How to stop the updates of each resource. */
  readonly subscriptions = new Map<string, () => void>()
  logLevel: LoggingLevel | undefined

  /** The client, whose messages go out with `send`. */
  peer(capabilities: PeerCapabilities, send: SendToPeer): ClientPeer {
    const state = this
    return {
      capabilities,
      request: (method, params, options) => state.requests.request(send, method, params, options),
      notify(method, params) {
        if (method === 'notifications/message' && !state.#wants(params.level)) return
        send({ jsonrpc: '2.0', method, params })
      },
      get logLevel() {
        return state.logLevel
      },
      setLogLevel(level) {
        state.logLevel = level
      },
      subscribe(uri, stop) {
        if (state.subscriptions.size >= MAX_SUBSCRIPTIONS && !state.subscriptions.has(uri)) return false
        state.#unsubscribe(uri)
        state.subscriptions.set(uri, stop)
        return true
      },
      unsubscribe: (uri) => state.#unsubscribe(uri),
    }
  }

  /** Ends the requests and subscriptions of a client that has left. */
  close(): void {
    this.requests.close()
    for (const uri of this.subscriptions.keys()) this.#unsubscribe(uri)
  }

  #unsubscribe(uri: string): void {
    this.subscriptions.get(uri)?.()
    this.subscriptions.delete(uri)
  }

  #wants(level: unknown): boolean {
    return this.logLevel === undefined || LEVELS.indexOf(level) >= LEVELS.indexOf(this.logLevel)
  }
}
