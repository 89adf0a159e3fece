import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ServerEventBus, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { Fault } from '../core/errors.ts'
import { type JsonPieces, writeJson } from '../gate/stored-json.ts'
import { type Answered, isBatch, serveBatch } from './batch.ts'
import { type ClientDoor, SESSION_HEADER } from './client-instance.ts'
import { readPlainCall } from './envelope.ts'
import { LegacyStreams } from './legacy-stream.ts'
import { isToolCall } from './message.ts'
import { createServer, type Face } from './server.ts'
import { isTaskTool } from './task-tool.ts'
import type { Call } from './tool.ts'
import { serveWeb } from './web-bridge.ts'
import { answerOf, isObject, type RequestId, sendResult } from './wire.ts'

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
  /** Hears of errors that callers are not told. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * Without sessions: each request stands for itself, with or without a handshake before it. Answers are always JSON,
 * which every client of those revisions must take, and which callers that only know JSON-RPC need.
 */
export function statelessLeg(
  open: Face,
  { clients, bus, fastPath = true, onError }: LegacyOptions = {},
): LegacyLeg {
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
    const plain = fastPath ? await callPlainly(face, request, body, callOf) : undefined
    if (plain !== undefined) return sendResult(response, plain.id, plain.result)
    // One promise for all messages of a batch: each would add a listener of its own.
    const gone = once(response, 'close')
    gone.catch(() => {})
    if (isBatch(body)) {
      const answer = (message: unknown) => answerOne(face, request, gone, message, callOf, fastPath)
      return serveBatch(response, body, { answer, waits: (message) => mayWait(face, message), onError })
    }
    const greeting = clients && greetingOf(body, clients)
    if (greeting !== undefined) response.setHeader(SESSION_HEADER, greeting)
    await serveWeb(request, response, body, (web) => serveBySdk(face, web, gone, body, callOf))
  }
}

async function serveBySdk(
  face: Face,
  web: Request,
  gone: Promise<unknown>,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
): Promise<Response> {
  const server = createServer(face, 'legacy', ({ mcpReq }) => callOf(mcpReq.signal))
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  web.headers.set('accept', 'application/json, text/event-stream')
  // The transport never answers a request whose client has gone.
  const unanswered = gone.then(() => new Response(null, { status: 499 }))
  try {
    return await Promise.race([transport.handleRequest(web, { parsedBody: body }), unanswered])
  } finally {
    await server.close()
  }
}

/**
 * Runs the plain call of a tool that is no task, without the SDK, which would parse and write the answer once more.
 * Resolves with undefined, and has done nothing, if the request is anything else.
 */
async function callPlainly(
  face: Face,
  { headers }: IncomingMessage,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
): Promise<{ id: RequestId; result: string | JsonPieces } | undefined> {
  const request = readPlainCall(headers, body)
  if (request === undefined) return undefined
  const call = callOf(new AbortController().signal)
  const found = await face.tools.find(request.name, call.credential)
  if (found === undefined || isTaskTool(found)) return undefined
  return { id: request.id, result: writeJson(await found(request.args, call)) }
}

/** The answer to one message of a batch. */
async function answerOne(
  face: Face,
  request: IncomingMessage,
  gone: Promise<unknown>,
  message: unknown,
  callOf: (signal: AbortSignal) => Call,
  fastPath: boolean,
): Promise<Answered> {
  const plain = fastPath ? await callPlainly(face, request, message, callOf) : undefined
  if (plain !== undefined) return answerOf(plain.id, plain.result)
  const { 'mcp-protocol-version': version } = request.headers
  const headers = {
    'content-type': 'application/json',
    ...(typeof version === 'string' && { 'mcp-protocol-version': version }),
  }
  const web = new Request('http://localhost/mcp', { method: 'POST', headers })
  const answered = await serveBySdk(face, web, gone, message, callOf)
  const text = await answered.text()
  return text === '' ? undefined : text
}

/** Reads wait for their upstreams. */
const READS: ReadonlySet<unknown> = new Set(['prompts/get', 'resources/read', 'completion/complete'])

function mayWait({ tools }: Face, message: unknown): boolean {
  if (isObject(message) && READS.has(message.method)) return true
  if (!isToolCall(message) || !isObject(message) || !isObject(message.params)) return false
  const { name, arguments: args = {} } = message.params
  return typeof name === 'string' && isObject(args) && tools.mayWait(name, args)
}

/** Without a stream nobody can be told of a change. */
function unreachable(face: Face): Face {
  return {
    ...face,
    capabilities() {
      const { prompts, resources, ...others } = face.capabilities()
      const { listChanged: _, ...rest } = resources ?? {}
      return { ...others, tools: {}, ...(prompts && { prompts: {} }), ...(resources && { resources: rest }) }
    },
  }
}

function acceptsEvents({ headers }: IncomingMessage): boolean {
  return /\btext\/event-stream\b/i.test(headers.accept ?? '')
}

/** The name under which a client that shakes hands goes from now on. */
function greetingOf(body: unknown, clients: ClientDoor): string | undefined {
  if (!isObject(body) || body.method !== 'initialize' || !isObject(body.params)) return undefined
  return clients.greet(body.params.clientInfo)
}
