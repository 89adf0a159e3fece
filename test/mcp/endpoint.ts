import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { Authenticator } from '../../src/auth/credential.ts'
import { type Gate, type GateOptions, openGate } from '../../src/features/gate.ts'
import {
  createMcpEndpoint,
  type McpEndpoint,
  type McpEndpointOptions,
} from '../../src/mcp/transport/endpoint.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { asCaller, authenticatorOf, suiteAuthMode } from '../support/auth-modes.ts'
import { PROGRAM } from '../support/program.ts'

export const MODERN = '2026-07-28'

export const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

export interface Post {
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: z.infer<typeof Reply> | undefined
}

/** A JSON-RPC response, as far as tests read it. */
const Reply = z.looseObject({
  id: z.union([z.string(), z.number()]).nullish(),
  result: z
    .looseObject({
      isError: z.boolean().optional(),
      content: z.array(z.looseObject({ type: z.string(), text: z.string() })).optional(),
      structuredContent: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  error: z
    .looseObject({
      code: z.number(),
      message: z.string(),
      data: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
})

export interface Options {
  readonly fastPath?: boolean
  readonly toolNames?: 'dot' | 'underscore'
  readonly legacyTools?: boolean
  readonly apiKey?: string
  readonly maxBodyBytes?: number
  readonly allowed?: { readonly hosts: readonly string[]; readonly origins: readonly string[] }
  readonly requestId?: string
  /** The query of the URL; by default that of programs. */
  readonly query?: string
  /** Options of the gate besides its store. */
  readonly parts?: (store: Store) => Partial<GateOptions> | Promise<Partial<GateOptions>>
  /** Wraps the gate for the endpoint. */
  readonly wrap?: (gate: Gate) => Gate
}

export class McpServer {
  readonly url: string
  readonly gate: Gate
  readonly endpoint: McpEndpoint
  readonly errors: unknown[]
  readonly close: () => Promise<void>

  constructor(url: string, gate: Gate, endpoint: McpEndpoint, errors: unknown[], close: () => Promise<void>) {
    this.url = url
    this.gate = gate
    this.endpoint = endpoint
    this.errors = errors
    this.close = close
  }

  post(post: Post, signal?: AbortSignal): Promise<Answer> {
    return postTo(this.url, post, signal)
  }

  modern(method: string, params: object = {}, headers: Readonly<Record<string, string>> = {}, id = 1) {
    return this.post(modernPost(method, params, headers, id))
  }

  /** Opens a subscription stream. */
  listen(notifications: object): Promise<Response> {
    const { body, headers } = modernPost('subscriptions/listen', { notifications })
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...asCaller(suiteAuthMode(), {}).headers,
        ...headers,
      },
      body: JSON.stringify(body),
    })
  }

  call(name: string, args: object = {}, headers: Readonly<Record<string, string>> = {}) {
    return this.post(modernCall(name, args, headers))
  }
}

export async function postTo(
  url: string,
  { body, headers = {} }: Post,
  signal?: AbortSignal,
): Promise<Answer> {
  const { caller, sent } = ownKeys.has(url) ? { caller: {}, sent: body } : asSuiteCaller(body)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...caller, ...headers },
    body: typeof sent === 'string' ? sent : JSON.stringify(sent),
    ...(signal && { signal }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : Reply.parse(JSON.parse(text)),
  }
}

const ownKeys = new Set<string>()

/** The test sets the key of this server and sends it itself. */
export function sendsOwnKey(url: string): void {
  ownKeys.add(url)
}

const ToolCall = z.looseObject({
  params: z.looseObject({ arguments: z.record(z.string(), z.unknown()) }),
})

/**
 * The request with the credential of the caller that its arguments name, in the authentication mode of the suite.
 */
function asSuiteCaller(body: unknown) {
  const call = ToolCall.safeParse(body)
  const { headers, fields } = asCaller(suiteAuthMode(), call.data?.params.arguments ?? {})
  if (call.data === undefined) return { caller: headers, sent: body }
  return { caller: headers, sent: { ...call.data, params: { ...call.data.params, arguments: fields } } }
}

/** A valid request of the modern era; `headers` override its own. */
export function modernPost(method: string, params: object = {}, headers = {}, id: number | string = 1): Post {
  return {
    body: { jsonrpc: '2.0', id, method, params: { _meta: META, ...params } },
    headers: { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...headers },
  }
}

export function modernCall(name: string, args: object = {}, headers = {}, id: number | string = 1): Post {
  return modernPost('tools/call', { name, arguments: args }, { 'mcp-name': name, ...headers }, id)
}

/** A call by a program that only knows JSON-RPC. */
export function bareCall(name: string, args: object = {}, id: number | string = 1): Post {
  return { body: { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } } }
}

/** An endpoint on an empty database and a free port, closed after the test. */
export async function startMcp(options: Options = {}): Promise<McpServer> {
  const server = await openMcp(options)
  onTestFinished(() => server.close())
  return server
}

export async function openMcp(options: Options = {}): Promise<McpServer> {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-mcp-'))
  const store = await openSqliteStore({ path: join(folder, 'gate.db') })
  const gate = openGate({ ...(await options.parts?.(store)), store, sweeping: false })
  const server = await serveMcp(gate, options)
  return new McpServer(server.url, gate, server.endpoint, server.errors, async () => {
    await server.close()
    await gate.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** An endpoint over a gate that the caller closes. */
export async function serveMcp(gate: Gate, options: Options = {}): Promise<McpServer> {
  const errors: unknown[] = []
  const endpoint = createMcpEndpoint({
    ...settings(options),
    gate: options.wrap?.(gate) ?? gate,
    onError: (error) => errors.push(error),
  })
  const server = createServer((request, response) => {
    if (options.requestId !== undefined) response.setHeader('X-Request-Id', options.requestId)
    void endpoint.handle(request, response)
  })
  // As in the real server: a client that reconnects slowly must not find its connection just closed.
  server.keepAliveTimeout = 75_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = z.object({ port: z.number() }).parse(server.address())
  const url = `http://127.0.0.1:${address.port}/mcp${options.query ?? PROGRAM}`
  if (options.apiKey !== undefined) sendsOwnKey(url)
  return new McpServer(url, gate, endpoint, errors, async () => {
    await endpoint.close()
    server.closeAllConnections()
    server.close()
  })
}

function settings({
  apiKey,
  fastPath,
  toolNames,
  legacyTools,
  maxBodyBytes,
  allowed,
}: Options): Omit<McpEndpointOptions, 'gate'> {
  return {
    authenticator:
      apiKey === undefined
        ? authenticatorOf(suiteAuthMode())
        : new Authenticator({ api_key: apiKey, allow_insecure_dev: false }),
    guard: { allowed_hosts: allowed?.hosts ?? [], allowed_origins: allowed?.origins ?? [] },
    maxBodyBytes: maxBodyBytes ?? 1024 * 1024,
    ...(fastPath !== undefined && { fastPath }),
    ...(toolNames && { toolNames }),
    ...(legacyTools !== undefined && { legacyTools }),
  }
}

/** The structured content of a result, which must equal its text. */
export function contentOf(answer: Answer): Readonly<Record<string, unknown>> {
  const { structuredContent, content } = answer.body?.result ?? {}
  if (structuredContent === undefined) throw new Error(`No result of a tool: ${JSON.stringify(answer.body)}`)
  const [text, ...more] = content ?? []
  if (text === undefined || more.length > 0 || text.text !== JSON.stringify(structuredContent)) {
    throw new Error(`The text is not the JSON of the data: ${JSON.stringify(content)}`)
  }
  return structuredContent
}
