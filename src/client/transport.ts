import { backoff, pause, RETRY_LOOP, RETRY_REQUEST, type RetryPolicy } from './backoff.ts'
import { GateError, pauseAfter } from './gate-error.ts'
import { readEvents, type ServerEvent } from './server-sent-events.ts'

/** The address and the credentials of a server. */
export interface GateAddress {
  /** As in http://127.0.0.1:8080. It may have a path. */
  readonly url: string
  readonly key?: string | undefined
  /** Must reject when its signal is aborted, as the built-in one does. */
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** The time limit of each attempt, including the response body; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** How transient failures are retried; false for not at all. */
  readonly retry?: RetryPolicy | false | undefined
  /** Whether the request can be repeated when its outcome is unknown; true by default. */
  readonly repeatable?: boolean | undefined
}

export interface EventOptions {
  readonly signal?: AbortSignal | undefined
  /** Called whenever the stream opens; `again` means that changes may have been missed before. */
  readonly onOpen?: ((again: boolean) => void) | undefined
}

/** The longest wait of the server, plus network time. */
const TIMEOUT_MS = 60_000

/** The server sends a comment every 15 s. A stream without three of them is considered dead. */
const SILENCE_MS = 45_000

/** The HTTP connection to one server. */
export class Transport {
  readonly url: string
  readonly #fetch: typeof globalThis.fetch
  readonly #get: Readonly<Record<string, string>>
  readonly #post: Readonly<Record<string, string>>

  constructor({ url, key, fetch, headers }: GateAddress) {
    this.url = baseOf(url)
    // The fetch of a browser needs its own `this`.
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init))
    const auth = key === undefined ? headers : { ...headers, authorization: `Bearer ${key}` }
    // Throws for an invalid header now, instead of at the first request.
    this.#get = Object.fromEntries(new Headers(auth))
    this.#post = { ...this.#get, 'content-type': 'application/json' }
  }

  /** The body of the response, which is not validated. The fields of a GET go into its query. */
  async request<Body = unknown>(
    method: 'GET' | 'POST',
    path: string,
    fields?: object,
    options: RequestOptions = {},
  ): Promise<Body> {
    const { signal, retry = RETRY_REQUEST, repeatable = true, timeoutMs = TIMEOUT_MS } = options
    const isGet = method === 'GET'
    const url = this.url + path + (isGet ? queryOf(fields) : '')
    const init: RequestInit = isGet
      ? { method, headers: this.#get }
      : { method, headers: this.#post, body: JSON.stringify(fields ?? {}) }
    for (let nth = 1; ; nth++) {
      try {
        return await this.#once<Body>(url, init, timeoutMs, signal)
      } catch (error) {
        if (!(error instanceof GateError) || !error.retryable) throw error
        if (retry === false || nth > retry.retries || (error.uncertain && !repeatable)) throw error
        await pause(pauseAfter(error, backoff(nth, retry)), signal)
      }
    }
  }

  /** Server-sent events. Reconnects when the stream breaks; only a refusal or the signal ends it. */
  async *events<Data = unknown>(
    path: string,
    { signal, onOpen }: EventOptions = {},
  ): AsyncGenerator<ServerEvent<Data>, void, void> {
    let failures = 0
    let opened = false
    for (;;) {
      const call = new Call(this.url, signal)
      let failure: unknown
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
        failure = error
      } finally {
        call.hangUp()
      }
      failures += 1
      await pause(pauseAfter(failure, backoff(failures, RETRY_LOOP)), signal)
    }
  }

  async #once<Body>(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Body> {
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

  /** The response, if its status is 2xx. */
  async #send(url: string, init: RequestInit, call: Call): Promise<Response> {
    const response = await call.reach(this.#fetch(url, { ...init, signal: call.signal }))
    if (response.ok) return response
    const { status, headers } = response
    throw GateError.of({ status, headers, text: await call.reach(response.text()) })
  }
}

/**
 * One HTTP request with its time limit and the signal of the caller. The listener is removed at the end, because a caller
 * may use one signal for all its requests.
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

  /** Sets the time limit, counted from now. */
  limit(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no response within ${ms / 1000} s`)), ms)
  }

  /** Translates network failures: to the reason of the caller's signal, or to a GateError. */
  async reach<T>(response: Promise<T>): Promise<T> {
    try {
      return await response
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
    throw new TypeError(`url: "${url}" is not the URL of a server. Example: http://127.0.0.1:8080.`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new TypeError('url: must not contain credentials. Pass the key as "key".')
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** Lists repeat their name, labels become `label.name`, and undefined fields are omitted. */
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
