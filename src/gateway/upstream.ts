import { setTimeout as pause } from 'node:timers/promises'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import { isoTime } from '../core/time.ts'
import type { UpstreamTool } from '../gate/upstreams.ts'
import type { UpstreamHealth, UpstreamRecord } from '../gate/upstreams-shape.ts'
import { Backoff } from './backoff.ts'
import { Breaker } from './breaker.ts'
import type { Catalogue } from './catalogue.ts'
import type { CallOptions, Connection } from './connection.ts'
import type { Definition } from './definition.ts'
import type { HoldsSecret } from './secrets.ts'
import { ToolWatch, type ToolWatchParts } from './tool-watch.ts'
import { Turnstile } from './turnstile.ts'
import { faultLine } from './upstream-fault.ts'
import { aborted, deferred, orAborted } from './waiting.ts'

/** Takes what pino takes. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface UpstreamParts extends Omit<ToolWatchParts, 'failed'> {
  readonly connect: (signal: AbortSignal) => Promise<Connection>
  readonly logger: Logger
  /** Whether an answer has something in it that no agent may see. */
  readonly holdsSecret?: HoldsSecret | undefined
}

type State = UpstreamHealth['state']

/** One upstream: kept connected as long as it is wanted, and called with care. */
export class Upstream {
  readonly record: UpstreamRecord
  readonly #parts: UpstreamParts
  readonly #tools: ToolWatch
  readonly #breaker: Breaker
  readonly #turnstile: Turnstile
  readonly #stop = new AbortController()
  readonly #settled = deferred<void>()
  #state: State
  #since = Date.now()
  #connection: Connection | undefined
  /** What those calls wait for that come while it is being connected. */
  #connecting = deferred<void>()
  #running: Promise<void> = Promise.resolve()
  #restarts = 0
  #lastError: UpstreamHealth['last_error'] = null

  constructor(parts: UpstreamParts) {
    this.#parts = parts
    this.record = parts.record
    this.#tools = new ToolWatch({ ...parts, failed: (error) => this.#listFailed(error) })
    this.#breaker = new Breaker(parts.record.breaker)
    this.#turnstile = new Turnstile(parts.record.concurrency)
    this.#state = parts.record.enabled ? 'connecting' : 'disabled'
  }

  /** Resolves when the first try to connect and list has ended, either way. */
  get settled(): Promise<void> {
    return this.#settled.promise
  }

  get catalogue(): Catalogue {
    return this.#tools.catalogue
  }

  get health(): UpstreamHealth {
    const { listedAt } = this.#tools
    return {
      state: this.#state,
      since: isoTime(this.#since),
      protocol_version: this.#connection?.protocolVersion ?? null,
      server: this.#connection?.server ?? null,
      breaker: this.#breaker.state,
      restarts: this.#restarts,
      running: this.#turnstile.inside,
      waiting: this.#turnstile.waiting,
      listed_at: listedAt === undefined ? null : isoTime(listedAt),
      last_error: this.#lastError,
    }
  }

  start(): void {
    if (this.record.enabled) this.#running = this.#run()
    else this.#settled.resolve()
  }

  /** Calls under way fail. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
    this.#connecting.reject(this.#unavailable())
    this.#settled.resolve()
  }

  /** What is accepted has changed. */
  review(): void {
    this.#tools.review()
  }

  /** A tool as clients see it. Throws a Fault that says why it cannot be called. */
  offered(tool: string): UpstreamTool {
    const entry = this.#tools.catalogue.get(tool)
    if (entry?.listed !== undefined) return entry.listed.tool
    const isUnknown = this.#tools.listedAt === undefined && entry?.view.status !== 'quarantined'
    throw isUnknown ? this.#unavailable() : this.#notOffered(tool)
  }

  /** Rejects with a Fault, or at once with the reason of the signal. */
  async call(tool: string, args: JsonObject, options: CallOptions = {}): Promise<CallToolResult> {
    const { signal } = options
    signal?.throwIfAborted()
    await this.#connected(signal)
    this.#callable(tool)
    if (this.#breaker.waitMs > 0) throw this.#spared()
    const leave = await this.#turnstile.enter(signal)
    options.onTurn?.()
    try {
      // Much may have happened while it waited.
      const connection = await this.#connected(signal)
      const definition = this.#callable(tool)
      return this.#safe(tool, await this.#callNow(connection, definition, args, options))
    } finally {
      leave()
    }
  }

  /** The answer, unless it has a key of this machine in it. */
  #safe(tool: string, result: CallToolResult): CallToolResult {
    if (!this.#parts.holdsSecret?.(result)) return result
    const { name: upstream } = this.record
    this.#parts.logger.warn({ upstream, tool }, 'an answer contained the approval key and was not handed on')
    throw new Fault('UPSTREAM_REFUSED', { upstream, problem: 'the answer contains a key of this server' })
  }

  async #callNow(
    connection: Connection,
    definition: Definition,
    args: JsonObject,
    options: CallOptions,
  ): Promise<CallToolResult> {
    const pass = this.#breaker.enter()
    if (pass === undefined) throw this.#spared()
    try {
      const result = await connection.call(definition, args, options)
      pass.succeeded()
      return result
    } catch (error) {
      if (options.signal?.aborted) {
        pass.dropped()
        throw error
      }
      // A refusal is an answer too: the upstream is there.
      if (error instanceof Fault && error.retryable) pass.failed()
      else pass.succeeded()
      // That the connection was lost is noted once, with the reason.
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
      this.#connecting.reject(this.#unavailable())
      this.#settled.resolve()
      const reason = this.#lastError?.message
      this.#parts.logger.warn(
        { upstream: this.record.name, pause_ms: pauseMs, reason },
        'an upstream is down',
      )
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      this.#restarts += 1
      this.#connecting = deferred()
      this.#enter('connecting')
    }
  }

  /** One connection, from its beginning to its end. Resolves with how long it was good. */
  async #once(): Promise<number> {
    const { signal } = this.#stop
    let connection: Connection | undefined
    let readyAt: number | undefined
    try {
      connection = await this.#parts.connect(signal)
      const lost = this.#lossOf(connection)
      await Promise.race([this.#tools.begin(connection), lost, aborted(signal)])
      signal.throwIfAborted()
      readyAt = performance.now()
      this.#ready(connection)
      await Promise.race([lost, aborted(signal)])
    } catch (error) {
      if (!signal.aborted) this.#note(error)
    } finally {
      this.#connection = undefined
      this.#enter('down')
      const ended = this.#tools.end()
      await connection?.close().catch(() => {})
      await ended
    }
    return readyAt === undefined ? 0 : performance.now() - readyAt
  }

  /** One that does not even list its tools any more is not what it was when it was connected. */
  #listFailed(error: unknown): void {
    this.#note(error)
    const isRefused = error instanceof Fault && error.code === 'UPSTREAM_REFUSED'
    if (isRefused) this.#connection?.giveUp('the server does not list its tools any more')
  }

  #ready(connection: Connection): void {
    this.#connection = connection
    this.#enter('ready')
    this.#connecting.resolve()
    this.#settled.resolve()
    const { protocolVersion: protocol_version, server } = connection
    this.#parts.logger.info({ upstream: this.record.name, protocol_version, server }, 'an upstream is ready')
  }

  /** Rejects when the connection is lost. */
  async #lossOf(connection: Connection): Promise<never> {
    const problem = await connection.lost
    throw new Fault('UPSTREAM_UNAVAILABLE', { upstream: this.record.name, problem })
  }

  /** Waits for a connection that is under way, and for no other. */
  async #connected(signal: AbortSignal | undefined): Promise<Connection> {
    if (this.#state === 'connecting') await orAborted(this.#connecting.promise, signal)
    if (this.#connection === undefined) throw this.#unavailable()
    return this.#connection
  }

  #callable(tool: string): Definition {
    const listed = this.#tools.catalogue.get(tool)?.listed
    if (listed === undefined) throw this.#notOffered(tool)
    return listed.definition
  }

  #notOffered(tool: string): Fault {
    const isQuarantined = this.#tools.catalogue.get(tool)?.view.status === 'quarantined'
    const code = isQuarantined ? 'UPSTREAM_TOOL_QUARANTINED' : 'UPSTREAM_TOOL_NOT_FOUND'
    return new Fault(code, { upstream: this.record.name, tool })
  }

  #unavailable(): Fault {
    const problem = this.#state === 'disabled' ? 'it is disabled' : 'it is not connected'
    return new Fault('UPSTREAM_UNAVAILABLE', { upstream: this.record.name, problem })
  }

  #spared(): Fault {
    return new Fault('UPSTREAM_UNAVAILABLE', {
      upstream: this.record.name,
      problem: 'it failed too often just now',
      retry_after_ms: Math.ceil(this.#breaker.waitMs),
    })
  }

  #enter(state: State): void {
    this.#state = state
    this.#since = Date.now()
  }

  #note(error: unknown): void {
    const { logger } = this.#parts
    const isOurs = error instanceof Fault
    if (!isOurs) logger.warn({ upstream: this.record.name, err: error }, 'an upstream could not be used')
    this.#lastError = {
      at: isoTime(Date.now()),
      code: isOurs ? error.code : 'INTERNAL_ERROR',
      message: isOurs ? faultLine(error) : 'Something went wrong inside AsyncGate; its log says what.',
    }
  }
}

/** The code with which a server says that it expects other headers: those of another definition. */
const HEADER_MISMATCH = -32_020

/** Whether a refusal may come from what we know of the upstream being old. */
function isStale(error: unknown): boolean {
  if (!(error instanceof Fault) || error.code !== 'UPSTREAM_REFUSED') return false
  const { status, rpc_code } = error.details
  return status === 400 || status === 404 || status === 405 || rpc_code === HEADER_MISMATCH
}
