import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { Authenticator, type AuthSettings, type TokenVerifier } from '../../src/auth/credential.ts'
import type { Gate } from '../../src/features/gate.ts'
import { Clients } from '../../src/http/clients.ts'
import type { GuardSettings } from '../../src/http/guard.ts'
import type { Logger } from '../../src/http/log.ts'
import { createMcpEndpoint } from '../../src/mcp/transport/endpoint.ts'
import { startServer } from '../../src/server/http-server.ts'
import { type AuthMode, asCaller, authSettings, suiteAuthMode } from '../support/auth-modes.ts'
import { verifierOf } from '../support/caller-keys.ts'
import type { Bench, Open, OpenOptions } from '../support/gates.ts'

export const KEY = 'a-shared-key-for-tests'

/** An admin, in every authentication mode. */
export const ROOT = { principal_kind: 'human', principal_id: 'root' } as const

type Members = Readonly<Record<string, unknown>>

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Empty if the response is not an object. */
  readonly body: Members
}

export interface ServeOptions extends OpenOptions {
  readonly auth?: AuthSettings
  readonly tokens?: TokenVerifier
  readonly guard?: Partial<GuardSettings>
  readonly maxBodyBytes?: number
  readonly clients?: Clients
  readonly logger?: Logger
  readonly drainMs?: number
}

export interface Served extends Bench {
  stop(): Promise<void>
  readonly url: string
  readonly port: number
  readonly get: Client['get']
  readonly post: Client['post']
  send(method: string, path: string, body?: unknown, headers?: Members): Promise<Answer>
  close(): Promise<void>
}

/** Servers of one test file, over gates that `open` creates. */
export function servers(open: Open) {
  return async (options: ServeOptions = {}): Promise<Served> => {
    const bench = await open(options)
    return { ...bench, ...(await serveGate(bench.gate, options)) }
  }
}

/** A server that closes with the gate, after its clients have disconnected. */
export async function serveGate(gate: Gate, options: ServeOptions = {}) {
  const mode = options.auth === undefined ? suiteAuthMode() : undefined
  const issued = verifierOf(gate.keys)
  const shared = {
    gate,
    authenticator: new Authenticator(options.auth ?? authSettings(suiteAuthMode()), issued, options.tokens),
    guard: { allowed_hosts: [], allowed_origins: [], ...options.guard },
    maxBodyBytes: options.maxBodyBytes ?? 1024 * 1024,
    clients: options.clients ?? new Clients(),
  }
  const mcp = createMcpEndpoint(shared)
  const server = await startServer({
    ...shared,
    mcp: mcp.handle,
    drainMs: options.drainMs ?? 0,
    ...(options.logger && { logger: options.logger }),
  })
  const client = new Client(server.port, mode)
  const close = async () => {
    client.leave()
    issued.stop()
    await mcp.close()
    await server.close()
  }
  const closeGate = gate.close
  gate.close = async () => {
    await close()
    await closeGate()
  }
  return {
    url: server.url,
    port: server.port,
    get: client.get,
    post: client.post,
    send: client.send,
    /** Stops the server while its clients stay connected. */
    stop: async () => {
      await mcp.close()
      await server.close()
    },
    close,
  }
}

/** Requests that need not repeat the worker that makes them, or name it in their path. */
const OF_WORKER = /^\/(?:lease|workers?)\/|^\/v1\/workers\/([^/]+)\/(?:heartbeat|unregister)$/

class Client {
  readonly #port: number
  readonly #agent = new Agent({ keepAlive: true })

  readonly #mode: AuthMode | undefined
  /** The worker that the last request named. */
  #worker = 'w1'

  /** With a mode, each request carries the credential of the caller that it names. */
  constructor(port: number, mode?: AuthMode) {
    this.#port = port
    this.#mode = mode
  }

  get = (path: string, query: Members = {}, headers: Members = {}): Promise<Answer> => {
    const asked = this.#asCaller(path, query)
    const pairs = Object.entries(asked.fields).map(([name, value]): [string, string] => [name, String(value)])
    const search = new URLSearchParams(pairs).toString()
    return this.send('GET', search === '' ? path : `${path}?${search}`, undefined, {
      ...asked.headers,
      ...headers,
    })
  }

  post = (path: string, body: unknown = {}, headers: Members = {}): Promise<Answer> => {
    if (typeof body === 'string') return this.send('POST', path, body, headers)
    const asked = this.#asCaller(path, members(body))
    return this.send('POST', path, asked.fields, { ...asked.headers, ...headers })
  }

  #asCaller(path: string, fields: Members) {
    if (this.#mode === undefined) return { headers: {}, fields }
    const { worker_id, principal_id } = fields
    if (typeof worker_id === 'string') this.#worker = worker_id
    const ofWorker = principal_id === undefined && worker_id === undefined ? OF_WORKER.exec(path) : null
    if (ofWorker === null) return asCaller(this.#mode, fields)
    const id = decodeURIComponent(ofWorker[1] ?? this.#worker)
    return { headers: asCaller(this.#mode, { worker_id: id }).headers, fields }
  }

  /** A string is sent unchanged, any other body as JSON. */
  send = async (method: string, path: string, body?: unknown, headers: Members = {}): Promise<Answer> => {
    const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
    const sent: Record<string, string> = {
      ...(this.#mode && asCaller(this.#mode, {}).headers),
      ...(text !== '' && { 'content-type': 'application/json' }),
    }
    for (const [name, value] of Object.entries(headers)) sent[name] = String(value)
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      request(
        { port: this.#port, host: '127.0.0.1', agent: this.#agent, method, path, headers: sent },
        resolve,
      )
        .on('error', reject)
        .end(text)
    })
    return readAnswer(message)
  }

  leave(): void {
    this.#agent.destroy()
  }
}

export async function readAnswer(message: IncomingMessage): Promise<Answer> {
  let text = ''
  message.setEncoding('utf8')
  for await (const chunk of message) text += chunk
  const isJson = message.headers['content-type']?.startsWith('application/json')
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : {}
  return { status: message.statusCode ?? 0, headers: message.headers, text, body: members(body) }
}

export function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
}

/** A string field of the body. */
export function textOf({ body, text }: Answer, name: string): string {
  const value = body[name]
  if (typeof value !== 'string') throw new Error(`the answer has no text ${name}: ${text}`)
  return value
}

/** The items of a list in the body. */
export function listOf({ body, text }: Answer, name: string): Members[] {
  const value = body[name]
  if (!Array.isArray(value)) throw new Error(`the answer has no list ${name}: ${text}`)
  return value.map(members)
}

/** Creates a task of alice and returns its id. */
export async function createTask({ post }: Pick<Served, 'post'>, input: Members = {}): Promise<string> {
  return textOf(await post('/v1/tasks', { type: 'job', principal_id: 'alice', ...input }), 'task_id')
}

/** A new task that w1 has leased, as the fields that its calls need. */
export async function heldTask(served: Pick<Served, 'post'>, input: Members = {}) {
  const task_id = await createTask(served, input)
  const [offer] = listOf(await served.post('/v1/leases/claim', { worker_id: 'w1' }), 'tasks')
  if (offer?.task_id !== task_id) throw new Error('the claim was given another task')
  return { worker_id: 'w1', task_id, lease_id: String(offer.lease_id) }
}
