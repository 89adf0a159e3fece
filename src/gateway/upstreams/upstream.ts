import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import { readOf, type UpstreamOffers } from '../../features/upstreams/reads.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type {
  Completed,
  Completing,
  UpstreamHealth,
  UpstreamTool,
} from '../../features/upstreams/upstreams.ts'
import { aborted, deferred, orAborted } from '../../util/abort.ts'
import { Semaphore } from '../../util/semaphore.ts'
import type { Answer } from '../calls/read-answers.ts'
import { Backoff } from './backoff.ts'
import type { CallOptions, ConnectionCallOptions, Elicit } from './call-options.ts'
import type { Catalogue } from './catalogue.ts'
import { Breaker } from './circuit-breaker.ts'
import type { Connection } from './connection.ts'
import type { HoldsSecret } from './credentials.ts'
import type { Definition } from './definition.ts'
import { InputRequired, UnaskableError } from './elicitation.ts'
import { OfferWatch, type OfferWatchDeps, ToolWatch, type ToolWatchDeps } from './list-watch.ts'
import { Permit } from './permit.ts'
import { mayRepeat } from './tool-name.ts'
import type { Traffic } from './traffic.ts'
import { faultLine, NOT_RUN } from './upstream-fault.ts'

/** Compatible with pino. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface UpstreamDeps extends Omit<ToolWatchDeps, 'failed'>, Pick<OfferWatchDeps, 'offersChanged'> {
  readonly connect: (signal: AbortSignal) => Promise<Connection>
  /** The totals of the connections of single sessions. */
  readonly sessions?: () => Pick<UpstreamHealth, 'sessions' | 'running' | 'waiting'>
  /** Shared by all connections to the upstream. */
  readonly traffic: Traffic
  readonly logger: Logger
  /** Whether a response contains a secret that no agent may see. */
  readonly holdsSecret?: HoldsSecret | undefined
}

type State = UpstreamHealth['state']

const LOST = 'the process that made the call ended before its result was recorded'
const KEY_FOUND = 'the response contains a key of this server'

/** One upstream: kept connected, and called through a circuit breaker and a semaphore. */
export class Upstream {
  readonly record: UpstreamRecord
  readonly #deps: UpstreamDeps
  readonly #tools: ToolWatch
  readonly #offers: OfferWatch
  readonly #breaker: Breaker
  readonly #semaphore: Semaphore
  readonly #stop = new AbortController()
  readonly #settled = deferred<void>()
  #state: State
  #since = Date.now()
  #connection: Connection | undefined
  /** Calls that arrive while it is connecting wait for this. */
  #connecting = deferred<void>()
  #running: Promise<void> = Promise.resolve()
  /** Monotonic time; set while the next attempt is scheduled. */
  #nextConnectAt: number | undefined
  #restarts = 0
  #lastError: UpstreamHealth['last_error'] = null

  constructor(deps: UpstreamDeps) {
    this.#deps = deps
    this.record = deps.record
    this.#tools = new ToolWatch({ ...deps, failed: (error) => this.#listFailed(error) })
    this.#offers = new OfferWatch({ ...deps, failed: (error) => this.#note(error) })
    this.#breaker = new Breaker(deps.record.breaker)
    this.#semaphore = new Semaphore(deps.record.concurrency)
    this.#state = deps.record.enabled ? 'connecting' : 'disabled'
  }

  /** Resolves when the first attempt to connect and list has ended. */
  get settled(): Promise<void> {
    return this.#settled.promise
  }

  get catalogue(): Catalogue {
    return this.#tools.catalogue
  }

  get offers(): UpstreamOffers {
    return this.#offers.offers
  }

  get health(): UpstreamHealth {
    const { listedAt } = this.#tools
    const others = this.#deps.sessions?.() ?? { sessions: 0, running: 0, waiting: 0 }
    return {
      state: this.#state,
      since: isoTime(this.#since),
      protocol_version: this.#connection?.protocolVersion ?? null,
      server: this.#connection?.server ?? null,
      breaker: this.#breaker.state,
      restarts: this.#restarts,
      running: this.#semaphore.held + others.running,
      waiting: this.#semaphore.waiting + others.waiting,
      sessions: others.sessions,
      traffic: this.#deps.traffic.view,
      listed_at: listedAt === undefined ? null : isoTime(listedAt),
      last_error: this.#lastError,
    }
  }

  start(): void {
    if (this.record.enabled) this.#running = this.#run()
    else this.#settled.resolve()
  }

  /** Running calls fail. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    this.#connecting.reject(this.#unavailable())
    this.#settled.resolve()
  }

  /** The accepted definitions have changed. */
  review(): void {
    this.#tools.review()
  }

  /** A tool as clients see it. Throws a Fault if it cannot be called. */
  offered(tool: string): UpstreamTool {
    if (readOf(tool) !== undefined) return this.#readable(tool)
    const entry = this.#tools.catalogue.get(tool)
    if (entry?.listed !== undefined) return entry.listed.tool
    const isUnknown = this.#tools.listedAt === undefined && entry?.view.status !== 'quarantined'
    throw isUnknown ? this.#unavailable() : this.#notOffered(tool)
  }

  /** Whether a call that may have reached the tool may be repeated. */
  mayRepeat(tool: string): boolean {
    return mayRepeat(this.record, tool, this.#tools.catalogue.get(tool)?.listed?.tool.annotations)
  }

  /**
   * Why the tool with this name for clients cannot be called. Undefined if it can be called, or if the upstream has no
   * such tool.
   */
  absence(name: string): Fault | undefined {
    const known = [...this.#tools.catalogue.values()].find(({ view }) => view.name === name)
    if (known === undefined) return this.#tools.listedAt === undefined ? this.#unavailable() : undefined
    try {
      this.offered(known.view.tool)
      return undefined
    } catch (error) {
      if (error instanceof Fault) return error
      throw error
    }
  }

  /** Rejects with a Fault or the reason of the signal. */
  async call(tool: string, args: JsonObject, options: CallOptions = {}): Promise<Answer | InputRequired> {
    const { signal } = options
    signal?.throwIfAborted()
    await this.#connected(signal)
    this.#callable(tool)
    // The annotations of the tool are known only when the upstream is connected.
    if (options.mayHaveRun && !this.mayRepeat(tool)) {
      throw new Fault('UPSTREAM_OUTCOME_UNKNOWN', { upstream: this.record.name, tool, problem: LOST })
    }
    if (this.#breaker.waitMs > 0) throw this.#spared()
    const permit = new Permit(this.#semaphore, signal)
    await permit.acquire()
    try {
      // The connection and the catalogue may have changed during the wait.
      const connection = await this.#connected(signal)
      const definition = this.#callable(tool)
      const { elicit } = options
      const asking = elicit && this.#asking(tool, permit, elicit)
      return this.#safe(
        tool,
        await this.#callNow(connection, definition, args, { ...options, elicit: asking }),
      )
    } finally {
      permit.release()
    }
  }

  /**
   * A call that waits for an answer needs no permit. It keeps the permit if the question did not arrive on its stream, so that
   * `concurrency: 1` makes every question unambiguous.
   */
  #asking(tool: string, permit: Permit, elicit: Elicit): ConnectionCallOptions['elicit'] {
    return async (elicitation, signal, isOnStream) => {
      if (this.#holdsSecret(tool, elicitation)) throw new UnaskableError(KEY_FOUND)
      if (!isOnStream) return elicit(elicitation, signal)
      permit.pause()
      return elicit(elicitation, signal).finally(() => permit.resume())
    }
  }

  /** Rejects with a Fault. */
  async complete(asked: Completing, signal: AbortSignal | undefined): Promise<Completed> {
    signal?.throwIfAborted()
    const connection = await this.#connected(signal)
    if (this.#breaker.waitMs > 0) throw this.#spared()
    const leave = await this.#semaphore.acquire(signal)
    try {
      return this.#safe('completion/complete', await connection.complete(asked, signal))
    } finally {
      leave()
    }
  }

  /** The response, unless it contains a secret of this server. */
  #safe<T extends Answer | Completed | InputRequired>(tool: string, answer: T): T {
    if (!this.#holdsSecret(tool, answer instanceof InputRequired ? answer.requests : answer)) return answer
    throw new Fault('UPSTREAM_REFUSED', { upstream: this.record.name, problem: KEY_FOUND })
  }

  #holdsSecret(tool: string, shown: unknown): boolean {
    if (!this.#deps.holdsSecret?.(shown)) return false
    const { name: upstream } = this.record
    this.#deps.logger.warn({ upstream, tool }, 'a response contained the approval key and was discarded')
    return true
  }

  async #callNow(
    connection: Connection,
    definition: Definition,
    args: JsonObject,
    options: ConnectionCallOptions,
  ): Promise<Answer | InputRequired> {
    const pass = this.#breaker.enter()
    if (pass === undefined) throw this.#spared()
    const began = performance.now()
    const ended = (isError: boolean) => this.#deps.traffic.ended(performance.now() - began, isError)
    try {
      options.signal?.throwIfAborted()
      options.onSend?.()
      const result = await connection.call(definition, args, options)
      pass.succeeded()
      ended(!(result instanceof InputRequired) && result.isError === true)
      return result
    } catch (error) {
      if (options.signal?.aborted) {
        pass.dropped()
        throw error
      }
      ended(true)
      // A refusal is a response too: the upstream is available.
      if (error instanceof Fault && error.retryable) pass.failed()
      else pass.succeeded()
      // The loss of a connection is recorded once, with its reason.
      if (!connection.isLost) this.#note(error)
      if (isStale(error)) this.#tools.refresh()
      throw error
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const backoff = new Backoff(this.record.restart)
    for (;;) {
      const lastedMs = await this.#once()
      if (signal.aborted) return
      const pauseMs = backoff.next(lastedMs)
      this.#nextConnectAt = performance.now() + pauseMs
      this.#connecting.reject(this.#unavailable())
      this.#settled.resolve()
      const reason = this.#lastError?.message
      this.#deps.logger.warn({ upstream: this.record.name, pause_ms: pauseMs, reason }, 'an upstream is down')
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      this.#nextConnectAt = undefined
      if (signal.aborted) return
      this.#restarts += 1
      this.#connecting = deferred()
      this.#enter('connecting')
    }
  }

  /** Runs one connection until it ends. Resolves with how long it was ready. */
  async #once(): Promise<number> {
    const { signal } = this.#stop
    let connection: Connection | undefined
    let readyAt: number | undefined
    try {
      connection = await this.#deps.connect(signal)
      const lost = this.#lossOf(connection)
      const listed = Promise.all([this.#tools.begin(connection), this.#offers.begin(connection)])
      await Promise.race([listed, lost, aborted(signal)])
      signal.throwIfAborted()
      readyAt = performance.now()
      this.#ready(connection)
      await Promise.race([lost, aborted(signal)])
    } catch (error) {
      if (!signal.aborted) this.#note(error)
    } finally {
      this.#connection = undefined
      this.#enter('down')
      const ended = Promise.all([this.#tools.end(), this.#offers.end()])
      await connection?.close().catch(() => {})
      await ended
    }
    return readyAt === undefined ? 0 : performance.now() - readyAt
  }

  /** An upstream that refuses to list its tools has to be connected again. */
  #listFailed(error: unknown): void {
    this.#note(error)
    const isRefused = error instanceof Fault && error.code === 'UPSTREAM_REFUSED'
    if (isRefused) this.#connection?.giveUp('the server does not list its tools any more')
  }

  #ready(connection: Connection): void {
    this.#connection = connection
    connection.onRefused = (problem) =>
      this.#deps.logger.warn({ upstream: this.record.name, problem }, 'a request of an upstream was refused')
    this.#enter('ready')
    this.#connecting.resolve()
    this.#settled.resolve()
    const { protocolVersion: protocol_version, server } = connection
    this.#deps.logger.info({ upstream: this.record.name, protocol_version, server }, 'an upstream is ready')
  }

  /** Rejects when the connection is lost. */
  async #lossOf(connection: Connection): Promise<never> {
    const problem = await connection.lost
    throw new Fault('UPSTREAM_UNAVAILABLE', { upstream: this.record.name, problem })
  }

  /** Waits for a connection attempt that is running, but for no later one. */
  async #connected(signal: AbortSignal | undefined): Promise<Connection> {
    if (this.#state === 'connecting') await orAborted(this.#connecting.promise, signal)
    if (this.#connection === undefined) throw this.#unavailable()
    return this.#connection
  }

  /** A read of a prompt or resource as a tool. Throws a Fault if it cannot be called. */
  #readable(call: string): UpstreamTool {
    const found = this.#offers.find(call)
    if (found !== undefined) return found
    throw this.#offers.isKnown ? this.#notOffered(call) : this.#unavailable()
  }

  #callable(tool: string): Definition {
    if (readOf(tool) !== undefined) return { name: tool, inputSchema: this.#readable(tool).inputSchema }
    const listed = this.#tools.catalogue.get(tool)?.listed
    if (listed === undefined) throw this.#notOffered(tool)
    return listed.definition
  }

  #notOffered(tool: string): Fault {
    const { status, reason = null } = this.#tools.catalogue.get(tool)?.view ?? {}
    const code = status === 'quarantined' ? 'UPSTREAM_TOOL_QUARANTINED' : 'UPSTREAM_TOOL_NOT_FOUND'
    return new Fault(code, { upstream: this.record.name, tool, ...(reason !== null && { problem: reason }) })
  }

  #unavailable(): Fault {
    const problem = this.#state === 'disabled' ? 'it is disabled' : 'it is not connected'
    const next = this.#nextConnectAt
    return new Fault('UPSTREAM_UNAVAILABLE', {
      upstream: this.record.name,
      problem,
      ...NOT_RUN,
      ...(next !== undefined && { retry_after_ms: Math.max(1, Math.ceil(next - performance.now())) }),
    })
  }

  #spared(): Fault {
    return new Fault('UPSTREAM_UNAVAILABLE', {
      upstream: this.record.name,
      problem: 'its circuit breaker is open after repeated failures',
      ...NOT_RUN,
      retry_after_ms: Math.ceil(this.#breaker.waitMs),
    })
  }

  #enter(state: State): void {
    this.#state = state
    this.#since = Date.now()
  }

  #note(error: unknown): void {
    const { logger } = this.#deps
    const isOurs = error instanceof Fault
    if (!isOurs) logger.warn({ upstream: this.record.name, err: error }, 'an upstream could not be used')
    this.#lastError = {
      at: isoTime(Date.now()),
      code: isOurs ? error.code : 'INTERNAL_ERROR',
      message: isOurs ? faultLine(error) : 'Something went wrong inside AsyncGate; its log says what.',
    }
  }
}

/** The error code for headers that do not match the definition. */
const HEADER_MISMATCH = -32_020

/** Whether a refusal may be due to an outdated definition. */
function isStale(error: unknown): boolean {
  if (!(error instanceof Fault) || error.code !== 'UPSTREAM_REFUSED') return false
  const { status, rpc_code } = error.details
  return status === 400 || status === 404 || status === 405 || rpc_code === HEADER_MISMATCH
}
