import { createServer } from 'node:http'
import { InMemoryServerEventBus, type Resource } from '@modelcontextprotocol/server'
import { expect, onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Gate } from '../../../src/features/gate.ts'
import { defineServer } from '../../../src/mcp/server.ts'
import { answered, type Call, type TaskTool, type TaskToolSource } from '../../../src/mcp/tools/tool.ts'
import { Endpoint } from '../../../src/mcp/transport/endpoint.ts'
import type { PeerResponse } from '../../../src/mcp/transport/peer.ts'
import type { SessionLimits } from '../../../src/mcp/transport/sessions.ts'
import { asCaller, authenticatorOf, suiteAuthMode } from '../../support/auth-modes.ts'
import { PROGRAM_LISTING } from '../../support/program.ts'
import { soon } from '../../support/steps.ts'

export const VERSION = '2025-11-25'
export const EVENTS = { accept: 'application/json, text/event-stream' }

type Headers = Readonly<Record<string, string>>

/** The credential of an agent in the authentication mode of the suite. */
export const asAgent = (): Headers => asCaller(suiteAuthMode(), {}).headers

export interface Unmatched {
  readonly response: PeerResponse
  readonly credential: Call['credential']
}

const RESOURCE: Resource = { uri: 'test://one', name: 'one' }

const DATA = { listing: PROGRAM_LISTING }

/** Tools that send messages to the client before they return. */
export function talkingTools(): TaskToolSource {
  const tool = (name: string, plain: NonNullable<TaskTool['plain']>): [string, TaskTool] => [
    name,
    {
      definition: { name, description: name, inputSchema: { type: 'object' } },
      waitSeconds: 1,
      plain,
      callerOf: () => expect.unreachable('not a task'),
      create: () => expect.unreachable('not a task'),
    },
  ]
  const tools = new Map<string, TaskTool>([
    tool('capabilities', async (_, { peer }) =>
      answered({ capabilities: peer && [...peer.capabilities] }, DATA),
    ),
    tool('ask', async ({ id }, { peer, signal }) => {
      const options = { signal, ...(typeof id === 'string' && { id }) }
      const given = (await peer?.request('elicitation/create', { message: 'Who?' }, options)) ?? null
      return answered({ given }, DATA)
    }),
    tool('log', async (_, { peer }) => {
      for (const level of ['debug', 'error']) peer?.notify('notifications/message', { level, data: level })
      return answered({ logged: peer !== undefined }, DATA)
    }),
  ])
  return { tools: async () => tools, onChange: () => () => {} }
}

/** An endpoint over the gate whose tools talk to the client. Several endpoints over one gate are several servers. */
export async function startTalking(gate: Gate, limits: Partial<SessionLimits> = {}) {
  const unmatched: Unmatched[] = []
  const errors: unknown[] = []
  const bus = new InMemoryServerEventBus()
  const { definition, onLists } = defineServer(gate, { sources: [talkingTools()] })
  const unsubscribe = onLists((kind) => bus.publish({ kind: `${kind}_list_changed` }))
  const endpoint = new Endpoint({
    audit: gate.audit,
    definition: {
      ...definition,
      // Its resources are not those of the gate.
      watchResource: async () => () => {},
      capabilities: () => ({
        ...definition.capabilities('legacy', 'default'),
        logging: {},
        resources: { subscribe: true, listChanged: true },
      }),
      extend(server, callOf) {
        definition.extend?.(server, callOf)
        server.setRequestHandler('resources/list', () => ({ resources: [RESOURCE] }))
      },
      async onUnmatchedResponse(response, { credential }) {
        unmatched.push({ response, credential })
      },
    },
    bus,
    onLeft: async () => {},
    authenticator: authenticatorOf(suiteAuthMode()),
    guard: { allowed_hosts: [], allowed_origins: [] },
    maxBodyBytes: 1024 * 1024,
    sessionLimits: limits,
    onError: (error) => errors.push(error),
  })
  const http = createServer((request, response) => void endpoint.handle(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = z.object({ port: z.number() }).parse(http.address())
  onTestFinished(async () => {
    unsubscribe()
    await endpoint.close()
    http.closeAllConnections()
    http.close()
  })
  return { url: `http://127.0.0.1:${port}/mcp`, unmatched, errors, bus, endpoint }
}

/** A client of 2025-11-25 that shows the raw protocol. */
export class RawClient {
  readonly id: string
  readonly #headers: Headers

  constructor(id: string, headers: Headers) {
    this.id = id
    this.#headers = headers
  }

  static async initialize(url: string, capabilities: object = {}, headers: Headers = asAgent()) {
    const clientInfo = { name: 'raw', version: '1' }
    const params = { protocolVersion: VERSION, capabilities, clientInfo }
    const response = await post(url, { id: 0, method: 'initialize', params }, { ...EVENTS, ...headers })
    await response.text()
    const id = response.headers.get('mcp-session-id')
    if (id === null) throw new Error('no session')
    return new RawClient(id, headers)
  }

  send(url: string, message: object, signal?: AbortSignal): Promise<Response> {
    return post(url, message, this.#all(), signal)
  }

  call(url: string, name: string, args: object = {}, id: string | number = 1, signal?: AbortSignal) {
    return this.send(url, { id, method: 'tools/call', params: { name, arguments: args } }, signal)
  }

  get(url: string, lastEventId?: string, signal?: AbortSignal): Promise<Response> {
    const headers = {
      ...this.#all(),
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    return fetch(url, { headers, ...(signal && { signal }) })
  }

  end(url: string): Promise<Response> {
    return fetch(url, { method: 'DELETE', headers: this.#all() })
  }

  #all(): Headers {
    return { ...EVENTS, ...this.#headers, 'mcp-protocol-version': VERSION, 'mcp-session-id': this.id }
  }
}

export function post(url: string, message: object, headers: Headers, signal?: AbortSignal) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(
      'jsonrpc' in message || Array.isArray(message) ? message : { jsonrpc: '2.0', ...message },
    ),
    ...(signal && { signal }),
  })
}

const Message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
  result: z.looseObject({ structuredContent: z.record(z.string(), z.unknown()).optional() }).optional(),
  error: z.looseObject({ data: z.looseObject({ code: z.string() }).optional() }).optional(),
})

export interface Received {
  readonly eventId: string | undefined
  /** Undefined for an event without data. */
  readonly message: z.infer<typeof Message> | undefined
}

/** Reads the events of a stream one at a time; undefined at its end. */
export function eventsOf(response: Response): () => Promise<Received | undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return async () => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
        if (lines.every((line) => line.startsWith(':'))) continue
        const data = field('data')
        return {
          eventId: field('id'),
          message: data === undefined || data === '' ? undefined : Message.parse(JSON.parse(data)),
        }
      }
      const { done, value } = (await (reader && soon(reader.read()))) ?? { done: true, value: undefined }
      if (done) return undefined
      text += value
    }
  }
}

/** The next event with a message. */
export async function nextMessage(read: () => Promise<Received | undefined>): Promise<Required<Received>> {
  for (;;) {
    const event = await read()
    if (event === undefined) throw new Error('The stream has ended')
    if (event.message !== undefined) return event
  }
}
