import type { z } from 'zod'
import { PROOF_HEADER, writeProof } from '../auth/local-proof.ts'
import type { Principal } from '../core/principal.ts'
import { CliError, EXIT } from './exit.ts'
import type { Input, Options } from './input.ts'
import { refusal } from './refusal.ts'
import { eventData } from './server-sent-events.ts'
import { findTarget, type Target } from './target.ts'

/** Options of every command that talks to a server. */
export const CLIENT_OPTIONS = {
  url: {
    type: 'string',
    value: 'URL',
    doc: 'the server; default ASYNCGATE_URL, the config file, a server running in this folder, or port 8080',
  },
  key: { type: 'string', value: 'KEY', doc: 'the key (ASYNCGATE_API_KEY)' },
  as: { type: 'string', value: 'KIND:ID', doc: 'on whose behalf, as in agent:alice; default the operator' },
} as const satisfies Options

type Fields = Readonly<Record<string, unknown>>

/** The longest wait the server allows for an answer, and some time for the way. */
const TIMEOUT_MS = 60_000

export class Client {
  readonly #find: () => Promise<Target>
  readonly #as: Principal | undefined
  #target: Promise<Target> | undefined

  /** The server is looked for when it is needed first. */
  constructor(find: () => Promise<Target>, as?: Principal) {
    this.#find = find
    this.#as = as
  }

  /** The server that this client talks to. */
  target(): Promise<Target> {
    this.#target ??= this.#find()
    return this.#target
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
    const { url } = await this.target()
    const { body } = await this.#send(path, { fields, signal: stop.signal })
    if (body === null) throw new CliError(EXIT.failure, `${url} sent an empty answer.`)
    const data = eventData(body)
    try {
      for (;;) {
        const next = await data.next().catch((error: unknown) => {
          throw unreachable(url, error)
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
    const target = await this.target()
    const url = new URL(target.url + path)
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
        ...(target.key !== null && { authorization: `Bearer ${target.key}` }),
        ...(target.local && { [PROOF_HEADER]: writeProof(target.local.key, target.local.at, Date.now()) }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify({ ...body, ...who }) }),
    }
    let response: Response
    try {
      response = await fetch(url, init)
    } catch (error) {
      throw unreachable(target.url, error)
    }
    if (!response.ok) throw refusal(response.status, await response.text(), target.withheld)
    return response
  }

  async #read<Shape extends z.ZodType>(response: Response, shape: Shape): Promise<z.output<Shape>> {
    const answer = shape.safeParse(await response.json().catch(() => undefined))
    if (answer.success) return answer.data
    const { url } = await this.target()
    throw new CliError(
      EXIT.failure,
      `${url} does not answer like an AsyncGate of this version.`,
      'Check --url; "asyncgate --version" and GET /health of the server say their versions.',
    )
  }
}

function unreachable(url: string, error: unknown): CliError {
  return new CliError(
    EXIT.unreachable,
    `No server answers at ${url} (${reasonOf(error)}).`,
    'Start one with "asyncgate dev", or name another with --url or ASYNCGATE_URL.',
  )
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  return 'code' in cause ? String(cause.code) : cause.message
}

/** The client that the options and the settings describe. */
export function clientOf(input: Input<keyof typeof CLIENT_OPTIONS>): Client {
  const as = input.principal('as')
  // The key of a person says who calls, so it is not for speaking for an agent.
  const isPerson = as === undefined || as.kind === 'human'
  return new Client(() => findTarget({ url: input.text('url'), key: input.text('key'), isPerson }), as)
}
