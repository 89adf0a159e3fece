import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import type { UpstreamRecord } from '../../features/upstreams/shape.ts'
import type { Answer } from '../calls/read-answers.ts'
import type { CallOptions, CallSession } from './call-options.ts'
import type { InputRequired } from './elicitation.ts'
import type { Upstream } from './upstream.ts'

export interface SessionConnectionsDeps {
  readonly record: Pick<UpstreamRecord, 'name' | 'max_session_connections'>
  /** Creates another connection to the same upstream, not started. */
  open(): Upstream
}

interface Own {
  readonly upstream: Upstream
  calls: number
}

/** The connections of an upstream that isolates sessions: one per session, from its first call to its end. */
export class SessionConnections {
  readonly #deps: SessionConnectionsDeps
  readonly #open = new Map<string, Own>()
  readonly #closing = new Set<Promise<void>>()
  #isStopped = false

  constructor(deps: SessionConnectionsDeps) {
    this.#deps = deps
  }

  get totals() {
    const all = [...this.#open.values()].map(({ upstream }) => upstream.health)
    const sum = (what: 'running' | 'waiting') => all.reduce((total, health) => total + health[what], 0)
    return { sessions: this.#open.size, running: sum('running'), waiting: sum('waiting') }
  }

  /** Rejects with a Fault or the reason of the signal. */
  async call(
    session: CallSession,
    tool: string,
    args: JsonObject,
    options: CallOptions,
  ): Promise<Answer | InputRequired> {
    const own = await this.#enter(session.id)
    try {
      return await own.upstream.call(tool, args, options)
    } finally {
      own.calls -= 1
      if (!session.isLive()) this.end(session.id)
    }
  }

  /** The session has ended. A running call keeps the connection until it ends. */
  end(sessionId: string): void {
    if (this.#open.get(sessionId)?.calls === 0) this.#close(sessionId)
  }

  /** The accepted definitions have changed. */
  review(): void {
    for (const { upstream } of this.#open.values()) upstream.review()
  }

  /** Running calls fail. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const id of [...this.#open.keys()]) this.#close(id)
    await Promise.all(this.#closing)
  }

  /**
   * Counts a call on the connection of a session, and creates the connection if needed. A program that is exiting still
   * counts.
   */
  async #enter(sessionId: string): Promise<Own> {
    const { name, max_session_connections: limit } = this.#deps.record
    for (;;) {
      const known = this.#open.get(sessionId)
      if (known !== undefined) {
        known.calls += 1
        return known
      }
      if (this.#isStopped) throw new Fault('UPSTREAM_UNAVAILABLE', { upstream: name })
      if (this.#open.size + this.#closing.size < limit) return this.#begin(sessionId)
      if (this.#closing.size === 0) {
        throw new Fault('SESSION_LIMIT_EXCEEDED', {
          upstream: name,
          setting: 'max_session_connections',
          limit,
          session_id: sessionId,
        })
      }
      await Promise.race(this.#closing)
    }
  }

  #begin(sessionId: string): Own {
    const own = { upstream: this.#deps.open(), calls: 1 }
    this.#open.set(sessionId, own)
    own.upstream.start()
    return own
  }

  #close(sessionId: string): void {
    const own = this.#open.get(sessionId)
    if (own === undefined) return
    this.#open.delete(sessionId)
    const closed = own.upstream.stop().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }
}
