import type { IncomingMessage, ServerResponse } from 'node:http'
import { holderOf } from '../auth/caller.ts'
import { Fault, invalid } from '../core/errors.ts'
import type { Context } from './context.ts'
import { Exchange } from './exchange.ts'
import { isAllowedOrigin } from './guard.ts'
import type { Logger } from './log.ts'
import { LIMIT_HEADERS, noteRefusal } from './origin.ts'
import { type Found, type Route, Router } from './router.ts'
import { setSecurityHeaders } from './security-headers.ts'

/** The label of unknown paths in logs and metrics, because clients choose them. */
const UNKNOWN = '(unknown)'

/** How a request that reached no operation is counted. */
const REFUSED = 'refused_request'

/** The headers that pages of allowed origins may read. */
const EXPOSED_HEADERS = [
  'X-Request-Id',
  'Retry-After',
  'WWW-Authenticate',
  ...Object.values(LIMIT_HEADERS),
].join(', ')

/** URLs are logged and remembered, so a token in one is refused everywhere. */
const TOKEN_IN_QUERY = /(?:^|&)access_token=/

/** Dispatches requests to routes, responds to errors, and logs and measures every request. */
export class App {
  readonly #context: Context
  readonly #logger: Logger
  readonly #router: Router<Route>
  readonly #inFlight = new Set<ServerResponse>()
  #isStopping = false
  #isClosing = false
  #idle: (() => void)[] = []

  constructor(context: Context, logger: Logger, routes: (app: App) => readonly Route[]) {
    this.#context = context
    this.#logger = logger
    this.#router = new Router(routes(this))
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Makes the readiness probe fail. */
  stop(): void {
    this.#isStopping = true
  }

  /** Closes each connection after its next response. */
  endConnections(): void {
    this.#isClosing = true
    for (const response of this.#inFlight) endConnection(response)
  }

  /** Resolves when no request is in progress. */
  async idle(): Promise<void> {
    if (this.#inFlight.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    setSecurityHeaders(request, response, this.#context.guard)
    const exchange = new Exchange(request, response, this.#context.clients)
    const found = this.#router.find(request.method ?? 'GET', exchange.path)
    const route = found !== undefined && 'route' in found ? found.route : undefined
    this.#inFlight.add(response)
    response.once('close', () => this.#finish(exchange, route))
    if (this.#isClosing) endConnection(response)
    this.#respond(exchange, found).catch((error: unknown) => this.#fail(exchange, route, error))
  }

  async #respond(exchange: Exchange, found: Found<Route> | undefined): Promise<void> {
    const { request, response } = exchange
    if (request.headers.origin !== undefined && this.#allowOrigin(exchange)) return
    if (TOKEN_IN_QUERY.test(exchange.query))
      throw invalid('access_token', 'belongs in the Authorization header')
    if (found === undefined) throw new Fault('NOT_FOUND')
    if ('route' in found) return found.route.handle(exchange, found.params)
    response.setHeader('Allow', found.allow.join(', '))
    throw new Fault('METHOD_NOT_ALLOWED', { allow: found.allow })
  }

  /** Allows pages of allowed origins to read the response. True if the request was a preflight, which is then complete. */
  #allowOrigin(exchange: Exchange): boolean {
    const { request, response } = exchange
    response.setHeader('Vary', 'Origin')
    if (!isAllowedOrigin(request.headers.origin, this.#context.guard)) return false
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '')
    response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    if (request.method !== 'OPTIONS') return false
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT')
    response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-API-Key, X-Request-Id')
    response.setHeader('Access-Control-Max-Age', '600')
    exchange.empty(204)
    return true
  }

  /** A request that reached no operation is counted too. */
  async #fail(exchange: Exchange, route: Route | undefined, error: unknown): Promise<void> {
    const { credential, origin } = exchange
    try {
      if (credential !== undefined)
        await this.#context.gate.rateLimits.count(holderOf(credential, origin), REFUSED)
      this.#refuse(exchange, route, error)
    } catch (limited) {
      this.#refuse(exchange, route, limited)
    }
  }

  #refuse(exchange: Exchange, route: Route | undefined, error: unknown): void {
    const { response } = exchange
    const fault = error instanceof Fault ? error : new Fault('INTERNAL_ERROR')
    noteRefusal(this.#context.gate.audit, fault, exchange.origin, exchange.credential)
    if (fault !== error) this.#logger.error({ err: error, request_id: exchange.id }, 'a request failed')
    if (response.headersSent || response.destroyed) response.destroy()
    else exchange.refuse(fault, route?.describe?.(fault), this.#context.resource?.challenge(fault, ''))
  }

  #finish(exchange: Exchange, route: Route | undefined): void {
    const { request, response, notes, id } = exchange
    const ms = performance.now() - exchange.started
    const path = route?.path ?? UNKNOWN
    const method = request.method ?? ''
    // The client disconnected before the response: 499, as proxies log it.
    const status = response.writableFinished || response.headersSent ? response.statusCode : 499
    this.#context.metrics.request(method, path, status, ms / 1000)
    const level = status >= 500 ? 'warn' : route?.quiet ? 'debug' : 'info'
    if (this.#logger.isLevelEnabled(level)) {
      this.#logger[level]({
        method,
        route: path,
        status,
        ms: Math.round(ms * 10) / 10,
        request_id: id,
        ...notes,
      })
    }
    this.#inFlight.delete(response)
    if (this.#inFlight.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }
}

function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close')
}
