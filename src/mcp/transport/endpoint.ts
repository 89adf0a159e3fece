import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  classifyInboundRequest,
  createMcpHandler,
  InMemoryServerEventBus,
  isJsonContentType,
  type McpHttpHandler,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
import { holderOf as holderOfCredential } from '../../auth/caller.ts'
import type { Authenticator, Credential } from '../../auth/credential.ts'
import type { ProtectedResource } from '../../auth/protected-resource.ts'
import { checkScope } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { DEFAULT_TOOL_SETS } from '../../core/tool-sets.ts'
import type { Gate } from '../../features/gate.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import { checkMediaType, readBody } from '../../http/body.ts'
import { Clients } from '../../http/clients.ts'
import { endWithKey } from '../../http/context.ts'
import { checkHostAndOrigin, type GuardSettings } from '../../http/guard.ts'
import { HttpOrigin, noteKeyUse, noteRefusal, type RequestAudit, requestIdHeader } from '../../http/origin.ts'
import { isObject } from '../../util/guards.ts'
import { createServer, defineServer, type ServerDefinition, type ServerOptions } from '../server.ts'
import { agentOfUrl, withAgent } from '../tools/identity.ts'
import { type Listing, listingOf, requestedListing } from '../tools/listing.ts'
import type { Call } from '../tools/tool.ts'
import { readMeta } from './capabilities.ts'
import { holderOf } from './client-instance.ts'
import { FastPath } from './fast-path.ts'
import { LegacyEndpoint } from './legacy.ts'
import { Listen } from './listen.ts'
import { isListening, isToolCall, type Message, readMessage, tokenOf } from './message.ts'
import { during, OpenCall, OpenRequest } from './open-call.ts'
import type { SessionLimits } from './sessions.ts'
import {
  acceptsEvents,
  acceptsJson,
  BROKEN,
  headerOf,
  NOT_ACCEPTABLE,
  refusal,
  requestIdOf,
  sendRefusal,
  serveWeb,
  UNPARSABLE,
} from './wire.ts'

interface HttpOptions {
  readonly authenticator: Authenticator
  /** Where clients get access tokens; undefined if none are accepted. */
  readonly resource?: ProtectedResource | undefined
  readonly guard: GuardSettings
  /** The clients of the server; those of this endpoint alone if absent. */
  readonly clients?: Clients | undefined
  readonly maxBodyBytes: number
  /** If false, the SDK serves every request; the responses are the same. */
  readonly fastPath?: boolean
  readonly sessionLimits?: Partial<SessionLimits>
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError?: (error: unknown) => void
}

export interface McpEndpointOptions extends HttpOptions, Omit<ServerOptions, 'onError'> {
  readonly gate: Gate
}

interface EndpointOptions extends HttpOptions {
  readonly audit: RequestAudit
  /** Without it requests are not counted. */
  readonly rateLimits?: Gate['rateLimits']
  readonly definition: ServerDefinition
  /** A legacy client has ended its session. */
  readonly onLeft: (credential: Credential, client: Client) => Promise<void>
  readonly listing?: Listing | undefined
  /** The changes of lists, for subscribers. */
  readonly bus: ServerEventBus
}

export type McpEndpoint = Pick<Endpoint, 'handle' | 'close'>

/** The MCP endpoint of a gate, for every revision of the protocol. */
export function createMcpEndpoint({ gate, ...options }: McpEndpointOptions): McpEndpoint {
  const { definition, onLists, onResources } = defineServer(gate, options)
  // A subscriber learns that some list has changed, but not for which caller.
  const bus = new InMemoryServerEventBus()
  const unsubscribes = [
    onLists((kind) => bus.publish({ kind: `${kind}_list_changed` })),
    onResources((uri) => bus.publish({ kind: 'resource_updated', uri })),
  ]
  const endpoint = new Endpoint({
    ...options,
    bus,
    audit: gate.audit,
    rateLimits: gate.rateLimits,
    definition,
    onLeft: (credential, { instance }) => gate.clientLeft(credential.tenant, instance, holderOf(credential)),
  })
  return {
    handle: (request, response) => endpoint.handle(request, response),
    async close() {
      for (const unsubscribe of unsubscribes) unsubscribe()
      await endpoint.close()
      await definition.tasks.calls.settled()
    },
  }
}

/** The limit for reading a body in which the key is searched. */
const MAX_UNPROVEN_BYTES = 64 * 1024

/** MCP over HTTP: checks host, origin, credential and body, then dispatches by protocol revision. */
export class Endpoint {
  readonly #options: EndpointOptions
  readonly #fastPath: FastPath | undefined
  readonly #legacy: LegacyEndpoint
  readonly #modern: McpHttpHandler
  /** The SDK creates a server for each web request. This is how that server finds its call. */
  readonly #calls = new WeakMap<Request, Call>()
  readonly #listen: Listen
  readonly #open = new Map<OpenRequest, Promise<void>>()
  readonly #listing: Listing
  readonly #clients: Clients
  #stopping = false

  constructor(options: EndpointOptions) {
    this.#options = options
    this.#clients = options.clients ?? new Clients()
    this.#listing = options.listing ?? listingOf(DEFAULT_TOOL_SETS)
    this.#fastPath = (options.fastPath ?? true) ? new FastPath(options.definition) : undefined
    this.#listen = new Listen(options.definition, options.bus)
    this.#legacy = new LegacyEndpoint(options.definition, options)
    this.#modern = createMcpHandler(
      ({ requestInfo }) => {
        const call = requestInfo && this.#calls.get(requestInfo)
        if (call === undefined) throw new Error('A request without its call')
        return createServer(options.definition, 'modern', call.credential.tenant, ({ mcpReq }) =>
          during(call, mcpReq.signal),
        )
      },
      { legacy: 'reject', bus: options.bus },
    )
  }

  /** Never rejects; errors become responses. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const open = new OpenRequest(response, this.#stopping)
    const served = this.#serve(request, response, open)
    this.#open.set(open, served)
    await served
    this.#open.delete(open)
  }

  /** Ends waiting requests, now and later. Resolves when the running requests have ended. */
  async close(): Promise<void> {
    this.#stopping = true
    for (const open of this.#open.keys()) open.end()
    this.#legacy.endStreams()
    await Promise.all(this.#open.values())
    this.#legacy.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse, open: OpenRequest): Promise<void> {
    const { audit, authenticator } = this.#options
    const requestId = requestIdHeader(response)
    const origin = new HttpOrigin(request, response, this.#clients, requestId)
    let credential: Credential | undefined
    let message: Message | undefined
    try {
      checkHostAndOrigin(request.headers, this.#options.guard)
      const listing = requestedListing(request.url ?? '', request.headers, this.#listing)
      const proven = await this.#clients.authenticate(request, (admit) =>
        authenticator.ofHeaders(request.headers, request.socket, admit),
      )
      if (request.method === 'POST') {
        checkPost(request)
        if (!acceptsJson(request.headers)) return sendRefusal(response, NOT_ACCEPTABLE)
        message = await readMessage(await this.#readBody(request, proven))
        if (message === undefined) return sendRefusal(response, UNPARSABLE)
      }
      const known =
        proven ??
        (await this.#clients.authenticate(request, (admit) =>
          authenticator.ofToken(tokenOf(message?.body), admit),
        ))
      credential = known
      noteKeyUse(audit, known, origin, authenticator.allowsAnonymous)
      endWithKey(this.#options, response, known)
      if (Array.isArray(message?.body)) origin.countEveryCall()
      // Tool calls are counted with the principal that they name.
      else if (!isToolCall(message?.body))
        await this.#options.rateLimits?.count(holderOfCredential(known, origin), 'mcp')
      this.#checkScope(known, message?.body)
      if (message?.flaw && !isToolCall(message.body)) throw message.flaw
      const read = readMeta(isObject(message?.body) ? message.body.params : undefined)
      const call = new OpenCall(
        {
          credential: known,
          requestId,
          origin,
          onRefused: (fault) => noteRefusal(audit, fault, origin, known),
          flaw: message?.flaw,
          ...withAgent(read, agentOfUrl(request.url)),
          listing,
          streams: acceptsEvents(request.headers),
        },
        open,
      )
      await this.#route(request, response, message, call, open)
    } catch (error) {
      noteRefusal(audit, error, origin, credential)
      const expected = error instanceof Fault
      if (!expected) this.#options.onError?.(error)
      const challenge = expected ? this.#options.resource?.challenge(error, '/mcp') : undefined
      const refused = expected ? refusal(error, requestId, challenge) : BROKEN
      sendRefusal(response, refused, requestIdOf(message?.body))
    }
  }

  /**
   * A client can ask the issuer of its token for another scope, and recognizes that from the HTTP response. Holders of
   * keys learn it from the result of the tool.
   */
  #checkScope(credential: Credential, body: unknown): void {
    if (credential.kind !== 'bound' || credential.token === undefined || !isToolCall(body)) return
    const { name, arguments: args } = isObject(body) && isObject(body.params) ? body.params : {}
    if (typeof name !== 'string') return
    const permission = this.#options.definition.tools.permissionOf(name, isObject(args) ? args : {})
    if (permission !== undefined) checkScope(credential, permission)
  }

  /** Limits the body of a request without a key in its headers. */
  async #readBody(request: IncomingMessage, proven: Credential | undefined): Promise<string> {
    const { authenticator, maxBodyBytes } = this.#options
    if (proven !== undefined || authenticator.allowsAnonymous) return readBody(request, maxBodyBytes)
    try {
      return await readBody(request, Math.min(maxBodyBytes, MAX_UNPROVEN_BYTES))
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'PAYLOAD_TOO_LARGE') throw error
      throw new Fault('UNAUTHENTICATED', {}, 'A request over 64 KiB needs its key in a header.')
    }
  }

  async #route(
    request: IncomingMessage,
    response: ServerResponse,
    message: Message | undefined,
    call: Call,
    open: OpenRequest,
  ): Promise<void> {
    const { headers, method = '' } = request
    const body = message?.body
    if (await this.#fastPath?.serve(headers, body, call, response)) return
    if (await this.#listen.serve(headers, body, call, response)) return
    const version = headerOf(headers, 'mcp-protocol-version')
    const { kind } = classifyInboundRequest({
      httpMethod: method,
      body,
      ...(version !== undefined && { protocolVersionHeader: version }),
    })
    if (kind === 'legacy') return this.#legacy.handle({ request, response, body, call, open })
    const watch = isListening(body)
      ? this.#options.definition.watchLists?.(call.credential.tenant)
      : undefined
    await watch?.loaded
    await serveWeb(request, response, body, (web) => {
      // A stream of changes ends when the server stops.
      const lasting = isListening(body)
        ? new Request(web, { signal: AbortSignal.any([web.signal, call.signal]) })
        : web
      this.#calls.set(lasting, call)
      return this.#modern.fetch(lasting, { parsedBody: body })
    }).finally(() => watch?.stop())
  }
}

function checkPost(request: IncomingMessage): void {
  checkMediaType(request)
  const type = request.headers['content-type'] ?? null
  // The SDK accepts no other JSON type.
  if (!isJsonContentType(type)) throw new Fault('UNSUPPORTED_MEDIA_TYPE', { content_type: type })
}
