import { z } from 'zod'
import { loadConfig } from '../config.ts'
import type { Principal } from '../core/principal.ts'
import { CliError, EXIT, type ExitCode } from './exit.ts'
import type { Input, Options } from './input.ts'
import { ownKeyFor } from './own-key.ts'
import { eventData } from './server-sent-events.ts'

/** Options of every command that talks to a server. */
export const CLIENT_OPTIONS = {
  url: { type: 'string', value: 'URL', doc: 'the server (ASYNCGATE_URL; default http://127.0.0.1:8080)' },
  key: { type: 'string', value: 'KEY', doc: 'the key (ASYNCGATE_API_KEY)' },
  as: { type: 'string', value: 'KIND:ID', doc: 'on whose behalf, as in agent:alice; default the operator' },
} as const satisfies Options

type Fields = Readonly<Record<string, unknown>>

const errorShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  request_id: z.string().optional(),
})

/** The longest wait the server allows for an answer, and some time for the way. */
const TIMEOUT_MS = 60_000

export class Client {
  readonly #url: string
  readonly #key: string | null
  readonly #as: Principal | undefined

  constructor(url: string, key: string | null, as?: Principal) {
    this.#url = url
    this.#key = key
    this.#as = as
  }

  async get<Shape extends z.ZodType>(path: string, fields: Fields, shape: Shape): Promise<z.output<Shape>> {
    const response = await this.#send(path, { fields, signal: AbortSignal.timeout(TIMEOUT_MS) })
    return this.#read(response, shape)
  }

  /** A signal of the caller's gives it up before its time. */
  async post<Shape extends z.ZodType>(
    path: string,
    body: Fields,
    shape: Shape,
    signal?: AbortSignal,
  ): Promise<z.output<Shape>> {
    const late = AbortSignal.timeout(TIMEOUT_MS)
    const response = await this.#send(path, { body, signal: signal ? AbortSignal.any([signal, late]) : late })
    return this.#read(response, shape)
  }

  /** The data of each event of a stream, until the caller stops or the server ends it. */
  async *events(path: string, fields: Fields): AsyncGenerator<string> {
    const stop = new AbortController()
    const { body } = await this.#send(path, { fields, signal: stop.signal })
    if (body === null) throw new CliError(EXIT.failure, `${this.#url} sent an empty answer.`)
    const data = eventData(body)
    try {
      for (;;) {
        const next = await data.next().catch((error: unknown) => {
          throw this.#unreachable(error)
        })
        if (next.done) return
        yield next.value
      }
    } finally {
      stop.abort()
    }
  }

  async #send(
    path: string,
    { fields, body, signal }: { fields?: Fields; body?: Fields; signal: AbortSignal },
  ): Promise<Response> {
    const who = this.#as && { principal_kind: this.#as.kind, principal_id: this.#as.id }
    const url = this.#address(path)
    for (const [name, value] of [
      ...Object.entries(body ? {} : (who ?? {})),
      ...Object.entries(fields ?? {}),
    ]) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const init: RequestInit = {
      signal,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.#key !== null && { authorization: `Bearer ${this.#key}` }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify({ ...body, ...who }) }),
    }
    let response: Response
    try {
      response = await fetch(url, init)
    } catch (error) {
      throw this.#unreachable(error)
    }
    if (!response.ok) throw refusal(response.status, await response.text())
    return response
  }

  #address(path: string): URL {
    if (!URL.canParse(this.#url)) {
      throw new CliError(
        EXIT.usage,
        `"${this.#url}" is not a URL.`,
        'Give --url as in http://127.0.0.1:8080.',
      )
    }
    return new URL(this.#url.replace(/\/$/, '') + path)
  }

  async #read<Shape extends z.ZodType>(response: Response, shape: Shape): Promise<z.output<Shape>> {
    const answer = shape.safeParse(await response.json().catch(() => undefined))
    if (answer.success) return answer.data
    throw new CliError(
      EXIT.failure,
      `${this.#url} does not answer like an AsyncGate of this version.`,
      'Check --url; "asyncgate --version" and GET /health of the server say their versions.',
    )
  }

  #unreachable(error: unknown): CliError {
    return new CliError(
      EXIT.unreachable,
      `No server answers at ${this.#url} (${reasonOf(error)}).`,
      'Start one with "asyncgate dev", or name another with --url or ASYNCGATE_URL.',
    )
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}

/** What a refusal of the server means here. */
function refusal(status: number, text: string): CliError {
  const body = errorShape.safeParse(jsonOrUndefined(text)).data
  if (body === undefined) {
    const hint = 'Check --url: this may not be an AsyncGate.'
    return new CliError(exitCodeOf(status), `The server answered with HTTP ${status}.`, hint)
  }
  const hint = status === 401 ? 'Give the key with --key, or set ASYNCGATE_API_KEY.' : body.hint
  return new CliError(exitCodeOf(status), `${body.message} (${body.code})`, hint, body)
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401 || status === 403) return EXIT.refused
  if (status === 404) return EXIT.notFound
  return status === 400 ? EXIT.usage : EXIT.failure
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The client that the options and the settings describe. */
export function clientOf(input: Input<keyof typeof CLIENT_OPTIONS>): Client {
  const { server } = loadConfig({
    env: process.env,
    flags: { url: input.text('url'), api_key: input.text('key') },
  })
  const as = input.principal('as')
  // It says who calls, so it is not for speaking for an agent.
  const own = as === undefined || as.kind === 'human' ? ownKeyFor(server.url) : null
  return new Client(server.url, server.api_key ?? own, as)
}
