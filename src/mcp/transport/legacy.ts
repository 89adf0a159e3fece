import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ServerEventBus, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { Fault } from '../../core/errors.ts'
import { type JsonPieces, writeJson } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { createServer, type ServerDefinition } from '../server.ts'
import { directCall } from '../tools/discover.ts'
import { type Call, isTaskTool, wantsProgress } from '../tools/tool.ts'
import { type Answered, isBatch, serveBatch } from './batch.ts'
import { SESSION_HEADER, type SessionHeader } from './client-instance.ts'
import { readPlainCall } from './envelope.ts'
import { LegacyStreams } from './legacy-stream.ts'
import { isToolCall } from './message.ts'
import { OpenCalls } from './open-call.ts'
import { acceptsEvents, answerOf, type RequestId, sendResult, serveWeb } from './wire.ts'

/** Serves the revisions before 2026-07-28. `body` is undefined unless the method is POST. */
export type LegacyHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
) => Promise<void>

interface LegacyOptions {
  readonly clients: SessionHeader
  readonly bus: ServerEventBus
  readonly fastPath?: boolean | undefined
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * Serves requests without sessions, with or without a handshake. Responses are JSON, which every legacy client accepts
 * and plain JSON-RPC callers need.
 */
export function statelessHandler(
  definition: ServerDefinition,
  { clients, bus, fastPath = true, onError }: LegacyOptions,
): LegacyHandler {
  const streams = new LegacyStreams(definition, bus)
  const held = new OpenCalls()
  return async (request, response, body, callOf) => {
    if (request.method === 'GET' && acceptsEvents(request.headers)) {
      await streams.serve(response, callOf(new AbortController().signal))
      return
    }
    if (request.method === 'DELETE') {
      const { credential, client } = callOf(new AbortController().signal)
      if (client === undefined) throw new Fault('METHOD_NOT_ALLOWED')
      await clients.left(credential, client)
      response.writeHead(204).end()
      return
    }
    if (request.method !== 'POST') throw new Fault('METHOD_NOT_ALLOWED')
    const plain = fastPath ? await callPlainly(definition, request, body, callOf) : undefined
    if (plain !== undefined) return sendResult(response, plain.id, plain.result)
    // One promise for all messages of a batch, so that there is one listener.
    const gone = once(response, 'close')
    gone.catch(() => {})
    if (isBatch(body)) {
      const answer = (message: unknown) =>
        answerOne({ definition, held, gone }, request, message, callOf, fastPath)
      return serveBatch(response, body, { answer, waits: (message) => mayWait(definition, message), onError })
    }
    const greeting = greetingOf(body, clients)
    if (greeting !== undefined) response.setHeader(SESSION_HEADER, greeting)
    const streamed = await tellsProgress(definition, body, callOf)
    await serveWeb(request, response, body, (web) =>
      serveBySdk({ definition, held, gone }, web, body, callOf, streamed),
    )
  }
}

interface LegacyDeps {
  readonly definition: ServerDefinition
  readonly held: OpenCalls
  /** Resolves when the response has ended or the client has disconnected. */
  readonly gone: Promise<unknown>
}

async function serveBySdk(
  { definition, held, gone }: LegacyDeps,
  web: Request,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
  streamed = false,
): Promise<Response> {
  const unheld = callOf(new AbortController().signal)
  held.heard(body, unheld)
  const cancelable = held.begin(body, unheld)
  const server = createServer(definition, 'legacy', ({ mcpReq }) =>
    callOf(cancelable === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, cancelable.signal])),
  )
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !streamed })
  await server.connect(transport)
  web.headers.set('accept', 'application/json, text/event-stream')
  // The transport does not respond to a request whose client has disconnected.
  const unanswered = gone.then(() => new Response(null, { status: 499 }))
  const end = async () => {
    cancelable?.end()
    await server.close()
  }
  try {
    return await Promise.race([transport.handleRequest(web, { parsedBody: body }), unanswered])
  } finally {
    // A stream has only begun at this point.
    if (streamed) void gone.then(end, end)
    else await end()
  }
}

/** Whether the message is a tool call whose client asked for progress. */
async function tellsProgress(
  { tools }: ServerDefinition,
  message: unknown,
  callOf: (signal: AbortSignal) => Call,
): Promise<boolean> {
  if (!isToolCall(message) || !isObject(message) || !isObject(message.params)) return false
  const call = callOf(new AbortController().signal)
  const { name, arguments: args = {} } = message.params
  if (!wantsProgress(call) || typeof name !== 'string' || !isObject(args)) return false
  const found = await tools.find(directCall(name, args).name, call.credential)
  return found !== undefined && isTaskTool(found)
}

/**
 * Runs a plain call of a tool that is no task without the SDK, which would parse and write the result again. Resolves
 * with undefined, without side effects, for other requests.
 */
async function callPlainly(
  definition: ServerDefinition,
  { headers }: IncomingMessage,
  body: unknown,
  callOf: (signal: AbortSignal) => Call,
): Promise<{ id: RequestId; result: string | JsonPieces } | undefined> {
  const request = readPlainCall(headers, body)
  if (request === undefined) return undefined
  const call = callOf(new AbortController().signal)
  const { name, args } = directCall(request.name, request.args)
  const found = await definition.tools.find(name, call.credential)
  if (found === undefined || isTaskTool(found)) return undefined
  return { id: request.id, result: writeJson(await found(args, call)) }
}

async function answerOne(
  parts: LegacyDeps,
  request: IncomingMessage,
  message: unknown,
  callOf: (signal: AbortSignal) => Call,
  fastPath: boolean,
): Promise<Answered> {
  const plain = fastPath ? await callPlainly(parts.definition, request, message, callOf) : undefined
  if (plain !== undefined) return answerOf(plain.id, plain.result)
  const { 'mcp-protocol-version': version } = request.headers
  const headers = {
    'content-type': 'application/json',
    ...(typeof version === 'string' && { 'mcp-protocol-version': version }),
  }
  const web = new Request('http://localhost/mcp', { method: 'POST', headers })
  const answered = await serveBySdk(parts, web, message, callOf)
  const text = await answered.text()
  return text === '' ? undefined : text
}

/** Reads wait for their upstreams. */
const READS: ReadonlySet<unknown> = new Set(['prompts/get', 'resources/read', 'completion/complete'])

function mayWait({ tools }: ServerDefinition, message: unknown): boolean {
  if (isObject(message) && READS.has(message.method)) return true
  if (!isToolCall(message) || !isObject(message) || !isObject(message.params)) return false
  const { name, arguments: args = {} } = message.params
  return typeof name === 'string' && isObject(args) && tools.mayWait(name, args)
}

/** The session header for a client that shakes hands. */
function greetingOf(body: unknown, clients: SessionHeader): string | undefined {
  if (!isObject(body) || body.method !== 'initialize' || !isObject(body.params)) return undefined
  return clients.greet(body.params.clientInfo)
}
