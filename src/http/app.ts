import type { IncomingMessage, ServerResponse } from 'node:http'
import { Fault } from '../core/errors.ts'
import type { Context } from './context.ts'
import { Exchange } from './exchange.ts'
import { isAllowedOrigin } from './guard.ts'
import type { Logger } from './log.ts'
import { type Found, type Route, Router } from './router.ts'

/** The route in logs and metrics of a path that nobody knows: paths are the clients' to choose. */
const UNKNOWN: Pick<Route, 'path'> = { path: '(unknown)' }

/** Sends each request to its route, answers for what is thrown, logs and counts. */
export class App {
  readonly #context: Context
  readonly #logger: Logger
  readonly #router: Router<Route>
  readonly #inFlight = new Set<ServerResponse>()
  #stopping = false
  #lastAnswers = false
  #idle: (() => void)[] = []

  constructor(context: Context, logger: Logger, routes: (app: App) => readonly Route[]) {
    this.#context = context
    this.#logger = logger
    this.#router = new Router(routes(this))
  }

  get isStopping(): boolean {
    return this.#stopping
  }

  /** From now on it says that it is not ready. */
  stop(): void {
    this.#stopping = true
  }

  /** From now on connections end with their next answer. */
  endConnections(): void {
    this.#lastAnswers = true
    for (const response of this.#inFlight) endConnection(response)
  }

  /** Resolves when no request is being answered. */
  async idle(): Promise<void> {
    if (this.#inFlight.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response)
    const found = this.#router.find(request.method ?? 'GET', exchange.path)
    const route = found !== undefined && 'route' in found ? found.route : undefined
    this.#inFlight.add(response)
    response.once('close', () => this.#over(exchange, route))
    if (this.#lastAnswers) endConnection(response)
    this.#answer(exchange, found).catch((error: unknown) => this.#refuse(exchange, route, error))
  }

  async #answer(exchange: Exchange, found: Found<Route> | undefined): Promise<void> {
    const { request, response } = exchange
    if (request.headers.origin !== undefined && this.#greetOrigin(exchange)) return
    if (found === undefined) throw new Fault('NOT_FOUND')
    if ('route' in found) return found.route.handle(exchange, found.params)
    response.setHeader('Allow', found.allow.join(', '))
    throw new Fault('METHOD_NOT_ALLOWED', { allow: found.allow })
  }

  /** Lets a web page that may call read the answer. True if all it asked was whether it may. */
  #greetOrigin(exchange: Exchange): boolean {
    const { request, response } = exchange
    response.setHeader('Vary', 'Origin')
    if (!isAllowedOrigin(request.headers.origin, this.#context.guard)) return false
    response.setHeader('Access-Control-Allow-Origin', request.headers.origin ?? '')
    response.setHeader('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After')
    if (request.method !== 'OPTIONS') return false
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT')
    response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-API-Key, X-Request-Id')
    response.setHeader('Access-Control-Max-Age', '600')
    exchange.empty(204)
    return true
  }

  #refuse(exchange: Exchange, route: Route | undefined, error: unknown): void {
    const { response } = exchange
    const fault = error instanceof Fault ? error : new Fault('INTERNAL_ERROR')
    if (fault !== error) this.#logger.error({ err: error, request_id: exchange.id }, 'a request failed')
    if (response.headersSent || response.destroyed) response.destroy()
    else exchange.refuse(fault, route?.describe?.(fault))
  }

  #over(exchange: Exchange, route: Route | undefined): void {
    const { request, response, notes, id } = exchange
    const ms = performance.now() - exchange.started
    const { path } = route ?? UNKNOWN
    const method = request.method ?? ''
    // Nobody got an answer: 499, as proxies log it.
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
