import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  type JSONRPCMessage,
  type MessageExtraInfo,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type ServerEventBus,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import { Fault } from '../../core/errors.ts'
import { type JsonPieces, writeJson } from '../../engine/stored-json.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { isObject } from '../../util/guards.ts'
import { createServer, type ServerDefinition } from '../server.ts'
import { directCall } from '../tools/discover.ts'
import { taskCaller } from '../tools/identity.ts'
import { type Call, isTaskTool, wantsProgress } from '../tools/tool.ts'
import { type Answered, isBatch, serveBatch } from './batch.ts'
import { mintSessionId, SESSION_HEADER } from './client-instance.ts'
import { isSupported, primes, readPlainCall } from './envelope.ts'
import { isToolCall } from './message.ts'
import { during, hasLeft, OpenCalls, type OpenRequest } from './open-call.ts'
import { peerCapabilities, readResponse } from './peer.ts'
import { type MessageSink, PostStream, SinkTransport, taskOf } from './post-stream.ts'
import type { ClientSession } from './session.ts'
import { SessionStreams } from './session-streams.ts'
import { type SessionLimits, Sessions } from './sessions.ts'
import {
  acceptsEvents,
  answerOf,
  BROKEN,
  headerOf,
  type Refusal,
  type RequestId,
  refusalBody,
  requestIdOf,
  sendRefusal,
} from './wire.ts'

/** A request of a revision before 2026-07-28. */
export interface LegacyExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Undefined unless the method is POST. */
  readonly body: unknown
  readonly call: Call
  readonly open: OpenRequest
}

export interface LegacyOptions {
  /** A client has ended its session. */
  readonly onLeft: (credential: Credential, client: Client) => Promise<void>
  readonly bus: ServerEventBus
  readonly fastPath?: boolean | undefined
  readonly sessionLimits?: Partial<SessionLimits> | undefined
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError?: ((error: unknown) => void) | undefined
}

const NO_MESSAGE: Refusal = {
  status: 400,
  code: PARSE_ERROR,
  message: 'Parse error: Invalid JSON-RPC message',
}

/**
 * Serves the revisions before 2026-07-28, with or without a session. Responses are JSON, which every client accepts and
 * plain JSON-RPC callers need, unless the server has something to say before the result.
 */
export class LegacyEndpoint {
  readonly #definition: ServerDefinition
  readonly #options: LegacyOptions
  readonly #sessions: Sessions
  readonly #streams: SessionStreams
  readonly #held = new OpenCalls()

  constructor(definition: ServerDefinition, options: LegacyOptions) {
    this.#definition = definition
    this.#options = options
    const { bus, sessionLimits } = options
    this.#sessions = new Sessions({ definition, bus, ...(sessionLimits && { limits: sessionLimits }) })
    this.#streams = new SessionStreams(this.#sessions)
  }

  async handle(exchange: LegacyExchange): Promise<void> {
    const { request, response, call } = exchange
    const header = headerOf(request.headers, SESSION_HEADER)
    switch (request.method) {
      case 'GET':
        if (!acceptsEvents(request.headers)) throw new Fault('METHOD_NOT_ALLOWED')
        return this.#streams.serve(request, response, call, this.#sessions.of(call.credential, header))
      case 'DELETE': {
        const session = this.#sessions.of(call.credential, header)
        if (session === undefined) throw new Fault('METHOD_NOT_ALLOWED')
        const { client } = session.introduction
        this.#sessions.end(call.credential, client.instance)
        await this.#options.onLeft(call.credential, client)
        response.writeHead(204).end()
        return
      }
      case 'POST': {
        const session = isInitialize(exchange.body) ? undefined : this.#sessions.of(call.credential, header)
        return session === undefined
          ? this.#post(exchange, undefined)
          : session.during(() => this.#post(exchange, session))
      }
      default:
        throw new Fault('METHOD_NOT_ALLOWED')
    }
  }

  /** Ends the streams of notifications, now and later. Calls go on. */
  endStreams(): void {
    this.#streams.end()
  }

  /** Call this when all calls have ended. */
  close(): void {
    this.#sessions.close()
  }

  async #post(exchange: LegacyExchange, session: ClientSession | undefined): Promise<void> {
    const { request, response, body, call, open } = exchange
    const requestId = requestIdOf(body)
    if (requestId === null) return this.#postOthers(exchange, session)
    const stream = new PostStream({
      response,
      open,
      requestId,
      streams: call.streams === true,
      session,
      primes: primes(request.headers),
    })
    const client = session?.introduction.client
    const connected = {
      client,
      get peer() {
        return call.streams ? session?.peer((message) => stream.send(message)) : undefined
      },
    }
    try {
      await this.#respond(exchange, session, stream, connected)
    } catch (error) {
      // A stream that has begun can only report the error as the response.
      if (!stream.hasBegun) throw error
      this.#options.onError?.(error)
      stream.finish(refusalBody(BROKEN, requestId))
    }
  }

  async #respond(
    { request, response, body, call }: LegacyExchange,
    session: ClientSession | undefined,
    stream: PostStream,
    connected: Pick<Call, 'client' | 'peer'>,
  ): Promise<void> {
    const plain = await this.#callPlainly(request.headers, body, during(call, undefined, connected))
    if (plain !== undefined) return stream.finishWith(plain.result)
    const message = parsed(body)
    if (message === undefined) return sendRefusal(response, NO_MESSAGE)
    if (isInitialize(body)) response.setHeader(SESSION_HEADER, sessionIdFor(body))
    else if (!isSupported(request.headers)) return sendRefusal(response, unsupported(request.headers))
    if (await this.#tellsProgress(body, call)) stream.begin()
    const sink =
      session === undefined || call.tasks !== 'task'
        ? stream
        : followingTasks(stream, session, during(call, undefined, connected), this.#definition.tasks.onError)
    const closeSSEStream = () => stream.disconnect()
    await this.#callSdk(message, sink, (signal) => during(call, signal, connected), { closeSSEStream })
    // Without effect unless the client has left.
    stream.abandon()
  }

  /** Serves batches, notifications and responses. */
  async #postOthers(exchange: LegacyExchange, session: ClientSession | undefined): Promise<void> {
    const { request, response, body, call } = exchange
    const { headers } = request
    const client = session?.introduction.client
    if (!isSupported(headers)) return sendRefusal(response, unsupported(headers))
    if (isBatch(body)) {
      const callOf = (signal?: AbortSignal) => during(call, signal, { client })
      return serveBatch(response, body, {
        answer: (message) => this.#answerOne(headers, message, session, callOf),
        waits: (message) => mayWait(this.#definition, message),
        onError: this.#options.onError,
      })
    }
    if (parsed(body) === undefined) return sendRefusal(response, NO_MESSAGE)
    // The response to a request of another server is accepted for its capabilities; nothing is sent to the client here.
    const peer = session?.peer(() => {})
    await this.#hear(body, session, during(call, undefined, { client, peer }))
    response.writeHead(202).end()
  }

  /** Handles a message that gets no response. */
  async #hear(message: unknown, session: ClientSession | undefined, call: Call): Promise<void> {
    this.#held.heard(message, call)
    const response = readResponse(message)
    if (response === undefined || session?.settle(response)) return
    await this.#definition.onUnmatchedResponse?.(response, call)
  }

  /**
   * Runs a plain call of a tool that is no task without the SDK, which would parse and write the result again. Resolves
   * with undefined, without side effects, for other requests.
   */
  async #callPlainly(
    headers: IncomingHttpHeaders,
    body: unknown,
    call: Call,
  ): Promise<{ id: RequestId; result: string | JsonPieces } | undefined> {
    const request = this.#options.fastPath === false ? undefined : readPlainCall(headers, body)
    if (request === undefined) return undefined
    const { name, args } = directCall(request.name, request.args)
    const found = await this.#definition.tools.find(name, call.credential)
    if (found === undefined || isTaskTool(found)) return undefined
    return { id: request.id, result: writeJson(await found(args, call)) }
  }

  /** Resolves when the response has gone to the sink, or when the client has left. */
  async #callSdk(
    message: JSONRPCMessage,
    sink: MessageSink,
    callOf: (signal?: AbortSignal) => Call,
    extra?: MessageExtraInfo,
  ): Promise<void> {
    const call = callOf()
    const cancelable = this.#held.begin(message, call)
    const server = createServer(this.#definition, 'legacy', call.credential.tenant, ({ mcpReq }) =>
      callOf(cancelable === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, cancelable.signal])),
    )
    const transport = new SinkTransport(sink)
    const { signal } = call
    const onAbort = () => {
      if (hasLeft(signal)) transport.giveUp()
    }
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    try {
      await server.connect(transport)
      transport.onmessage?.(message, extra)
      await transport.done
    } finally {
      signal.removeEventListener('abort', onAbort)
      cancelable?.end()
      await server.close()
    }
  }

  async #answerOne(
    headers: IncomingHttpHeaders,
    message: unknown,
    session: ClientSession | undefined,
    callOf: (signal?: AbortSignal) => Call,
  ): Promise<Answered> {
    const plain = await this.#callPlainly(headers, message, callOf())
    if (plain !== undefined) return answerOf(plain.id, plain.result)
    const read = parsed(message)
    if (read === undefined) return JSON.stringify(refusalBody(NO_MESSAGE, null))
    if (requestIdOf(message) === null) {
      await this.#hear(message, session, callOf())
      return undefined
    }
    let answer: string | undefined
    const sink = {
      send: () => {},
      finish: (response: object) => {
        answer = JSON.stringify(response)
      },
    }
    await this.#callSdk(read, sink, callOf)
    return answer
  }

  /** Whether the message is a call of a task tool whose client asked for progress. */
  async #tellsProgress(message: unknown, call: Call): Promise<boolean> {
    if (!wantsProgress(call) || !isToolCall(message) || !isObject(message) || !isObject(message.params))
      return false
    const { name, arguments: args = {} } = message.params
    if (typeof name !== 'string' || !isObject(args)) return false
    const found = await this.#definition.tools.find(directCall(name, args).name, call.credential)
    return found !== undefined && isTaskTool(found)
  }
}

function isInitialize(body: unknown): boolean {
  return isObject(body) && body.method === 'initialize'
}

/** Nothing is stored: the session begins with the first request that has this id. */
function sessionIdFor(body: unknown): string {
  const params = isObject(body) && isObject(body.params) ? body.params : {}
  return mintSessionId(params.clientInfo, peerCapabilities(params.capabilities))
}

function parsed(message: unknown): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(message)
  } catch {
    return undefined
  }
}

function unsupported(headers: IncomingHttpHeaders): Refusal {
  const version = headerOf(headers, 'mcp-protocol-version')
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ')
  return {
    status: 400,
    code: -32_000,
    message: `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`,
  }
}

/** Reports the status of the task that the response contains to the session. */
function followingTasks(
  stream: MessageSink,
  session: ClientSession,
  call: Call,
  onError: (error: unknown) => void,
): MessageSink {
  return {
    send: (message) => stream.send(message),
    finish(message) {
      stream.finish(message)
      const taskId = taskOf(message)
      if (taskId !== undefined) session.followTask(taskId, taskCaller(call)).catch(onError)
    },
  }
}

/** Reads wait for their upstreams. */
const READS: ReadonlySet<unknown> = new Set(['prompts/get', 'resources/read', 'completion/complete'])

function mayWait({ tools }: ServerDefinition, message: unknown): boolean {
  if (isObject(message) && READS.has(message.method)) return true
  if (!isToolCall(message) || !isObject(message) || !isObject(message.params)) return false
  const { name, arguments: args = {} } = message.params
  return typeof name === 'string' && isObject(args) && tools.mayWait(name, args)
}
