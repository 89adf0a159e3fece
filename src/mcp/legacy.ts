import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ServerEventBus, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { Fault } from '../core/errors.ts'
import { writeJson } from '../gate/stored-json.ts'
import { type ClientDoor, SESSION_HEADER } from './client-instance.ts'
import { readPlainCall } from './envelope.ts'
import { LegacyStreams } from './legacy-stream.ts'
import { createServer, type Face } from './server.ts'
import { isTaskTool } from './task-tool.ts'
import type { Call } from './tool.ts'
import { serveWeb } from './web-bridge.ts'
import { isObject, sendResult } from './wire.ts'

/** Serves what belongs to the revisions before 2026-07-28. `body` is undefined unless it is a POST. */
export type LegacyLeg = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
) => Promise<void>

interface LegacyOptions {
  readonly clients?: ClientDoor | undefined
  /** Tells of changed tools; without it nobody can be told. */
  readonly bus?: ServerEventBus | undefined
  /** Whether plain calls are served without the SDK. */
  readonly fastPath?: boolean | undefined
}

/**
 * Without sessions: each request stands for itself, with or without a handshake before it. Answers are always JSON,
 * which every client of those revisions must take, and which callers that only know JSON-RPC need.
 */
export function statelessLeg(open: Face, { clients, bus, fastPath = true }: LegacyOptions = {}): LegacyLeg {
  const face = bus === undefined ? unreachable(open) : open
  const streams = bus && new LegacyStreams(face, bus)
  return async (request, response, body, callOf) => {
    if (request.method === 'GET' && streams !== undefined && acceptsEvents(request)) {
      await streams.serve(response, callOf(new AbortController().signal))
      return
    }
    if (request.method === 'DELETE' && clients !== undefined) {
      const { credential, client } = callOf(new AbortController().signal)
      if (client === undefined) throw new Fault('METHOD_NOT_ALLOWED')
      await clients.left(credential, client)
      response.writeHead(204).end()
      return
    }
    if (request.method !== 'POST') throw new Fault('METHOD_NOT_ALLOWED')
    if (fastPath && (await callPlainly(face, request, response, body, callOf))) return
    const greeting = clients && greetingOf(body, clients)
    if (greeting !== undefined) response.setHeader(SESSION_HEADER, greeting)
    const server = createServer(face, 'legacy', ({ mcpReq }) => callOf(mcpReq.signal))
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await server.connect(transport)
    // The transport never answers a request whose client has gone.
    const gone = once(response, 'close').then(() => new Response(null, { status: 499 }))
    try {
      await serveWeb(request, response, body, (web) => {
        web.headers.set('accept', 'application/json, text/event-stream')
        return Promise.race([transport.handleRequest(web, { parsedBody: body }), gone])
      })
    } finally {
      await server.close()
    }
  }
}

/**
 * Serves the plain call of a tool that is no task, without the SDK, which would parse and write the answer once more.
 * Resolves with false, and has done nothing, if the request is anything else.
 */
async function callPlainly(
  face: Face,
  { headers }: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
): Promise<boolean> {
  const request = readPlainCall(headers, body)
  if (request === undefined) return false
  const call = callOf(new AbortController().signal)
  const found = await face.tools.find(request.name, call.credential)
  if (found === undefined || isTaskTool(found)) return false
  await sendResult(response, request.id, writeJson(await found(request.args, call)))
  return true
}

/** Without a stream nobody can be told of a change. */
function unreachable({ capabilities, ...rest }: Face): Face {
  const { tools: _, ...others } = capabilities
  return { ...rest, capabilities: { ...others, tools: {} } }
}

function acceptsEvents({ headers }: IncomingMessage): boolean {
  return /\btext\/event-stream\b/i.test(headers.accept ?? '')
}

/** The name under which a client that shakes hands goes from now on. */
function greetingOf(body: unknown, clients: ClientDoor): string | undefined {
  if (!isObject(body) || body.method !== 'initialize' || !isObject(body.params)) return undefined
  return clients.greet(body.params.clientInfo)
}
