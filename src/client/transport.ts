import { backoff, pause, RETRY_LOOP, RETRY_REQUEST, type RetryPolicy } from './backoff.ts'
import { GateError } from './gate-error.ts'
import { readEvents, type ServerEvent } from './server-sent-events.ts'

export {
  type Backoff,
  backoff,
  pause,
  RETRY_LOOP,
  RETRY_POLL,
  RETRY_REQUEST,
  type RetryPolicy,
} from './backoff.ts'
export { GateError } from './gate-error.ts'
export type { ServerEvent } from './server-sent-events.ts'

/** Where the server is, and how to get in. */
export interface GateAddress {
  /** As in http://127.0.0.1:8080. A path is kept: the server may live below one. */
  readonly url: string
  readonly key?: string | undefined
  /** Must reject when the signal that it is given aborts, as the usual one does. */
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** For each try, from the first byte to the last; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** Which failures that may pass are tried again; false for none. */
  readonly retry?: RetryPolicy | false | undefined
  /** Whether it does no harm to send the request again when nobody knows what became of it. True by default. */
  readonly repeatable?: boolean | undefined
}

export interface EventOptions {
  readonly signal?: AbortSignal | undefined
  /** Called whenever the stream is there; `again` means that changes may have passed unseen before. */
  readonly onOpen?: ((again: boolean) => void) | undefined
}

/** The longest wait the server allows for an answer, and some time for the way. */
const TIMEOUT_MS = 60_000

/** The server gives a sign of life every 15 s; a stream that is silent for three of them is dead. */
const SILENCE_MS = 45_000

/** One server, spoken to over HTTP. */
export class Transport {
  readonly url: string
  readonly #fetch: typeof globalThis.fetch
  readonly #get: Readonly<Record<string, string>>
  readonly #post: Readonly<Record<string, string>>

  constructor({ url, key, fetch, headers }: GateAddress) {
    this.url = baseOf(url)
    // A browser's fetch insists on its own `this`.
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init))
    const auth = key === undefined ? headers : { ...headers, authorization: `Bearer ${key}` }
    // A header that cannot be sent is a mistake of the caller, to be told at once and not tried again.
    this.#get = Object.fromEntries(new Headers(auth))
    this.#post = { ...this.#get, 'content-type': 'application/json' }
  }

  /** The body of the answer, whose type is taken at its word. The fields of a GET go into its query. */
  async request<Answer = unknown>(
    method: 'GET' | 'POST',
    path: string,
    fields?: object,
    options: RequestOptions = {},
  ): Promise<Answer> {
    const { signal, retry = RETRY_REQUEST, repeatable = true, timeoutMs = TIMEOUT_MS } = options
    const isGet = method === 'GET'
    const url = this.url + path + (isGet ? queryOf(fields) : '')
    const init: RequestInit = isGet
      ? { method, headers: this.#get }
      : { method, headers: this.#post, body: JSON.stringify(fields ?? {}) }
    for (let nth = 1; ; nth++) {
      try {
        return await this.#once<Answer>(url, init, timeoutMs, signal)
      } catch (error) {
        if (!(error instanceof GateError) || !error.retryable) throw error
        if (retry === false || nth > retry.retries || (error.uncertain && !repeatable)) throw error
        await pause(Math.max(backoff(nth, retry), error.retryAfterMs ?? 0), signal)
      }
    }
  }

  /** Server-sent events. Connects again whenever the stream breaks; only a refusal or the signal ends it. */
  async *events<Data = unknown>(
    path: string,
    { signal, onOpen }: EventOptions = {},
  ): AsyncGenerator<ServerEvent<Data>, void, void> {
    let failures = 0
    let opened = false
    for (;;) {
      const call = new Call(this.url, signal)
      let atLeastMs = 0
      try {
        call.limit(TIMEOUT_MS)
        const { status, body } = await this.#send(this.url + path, { headers: this.#get }, call)
        if (body === null) throw GateError.strange(this.url, status)
        call.limit(SILENCE_MS)
        const events = readEvents<Data>(body, () => {
          failures = 0
          call.limit(SILENCE_MS)
        })
        onOpen?.(opened)
        opened = true
        for (;;) {
          const next = await call.reach(events.next())
          if (next.done) break
          yield next.value
        }
      } catch (error) {
        if (!(error instanceof GateError) || !error.retryable) throw error
        atLeastMs = error.retryAfterMs ?? 0
      } finally {
        call.hangUp()
      }
      failures += 1
      await pause(Math.max(backoff(failures, RETRY_LOOP), atLeastMs), signal)
    }
  }

  async #once<Answer>(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const call = new Call(this.url, signal)
    try {
      call.limit(timeoutMs)
      const response = await this.#send(url, init, call)
      const text = await call.reach(response.text())
      return JSON.parse(text === '' ? 'null' : text)
    } catch (error) {
      if (error instanceof SyntaxError) throw GateError.strange(this.url, 200)
      throw error
    } finally {
      call.end()
    }
  }

  /** The answer, if it is a 2xx. */
  async #send(url: string, init: RequestInit, call: Call): Promise<Response> {
    const response = await call.reach(this.#fetch(url, { ...init, signal: call.signal }))
    if (response.ok) return response
    const { status, headers } = response
    throw GateError.of({ status, headers, text: await call.reach(response.text()) })
  }
}

/**
 * One HTTP call, with its time limit and the signal of the caller. The listener is taken off at the end: a caller
 * may use one signal for all calls of its life.
 */
class Call {
  readonly #controller = new AbortController()
  readonly #url: string
  readonly #given: AbortSignal | undefined
  readonly #abort: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(url: string, signal: AbortSignal | undefined) {
    signal?.throwIfAborted()
    this.#url = url
    this.#given = signal
    this.#abort = () => this.#controller.abort(signal?.reason)
    signal?.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** From now on. */
  limit(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no answer within ${ms / 1000} s`)), ms)
  }

  /** What the network gives, or the reason of the caller's signal, or an error that says why there is nothing. */
  async reach<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      this.#given?.throwIfAborted()
      throw GateError.unreachable(this.#url, this.signal.aborted ? this.signal.reason : error)
    }
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#given?.removeEventListener('abort', this.#abort)
  }

  hangUp(): void {
    this.end()
    this.#controller.abort()
  }
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw new TypeError(`url: "${url}" is not the address of a server. Give it as in http://127.0.0.1:8080.`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new TypeError('url: carries a password, which no request can send. Give the key as "key".')
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** Lists repeat their name, labels become `label.name`, and what is not given is left out. */
export function queryOf(fields: object = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    if (Array.isArray(value)) for (const item of value) query.append(name, textOf(item))
    else if (name === 'labels' && typeof value === 'object' && value !== null)
      for (const [label, text] of Object.entries(value)) query.append(`label.${label}`, textOf(text))
    else query.append(name, textOf(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
