import { createHash } from 'node:crypto'
import { Fault } from '../../core/errors.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Gate } from '../../features/gate.ts'
import type { Client, SessionEnd, SessionView } from '../../features/sessions/sessions.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import type { Entries } from '../../store/entries.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import type { Slots } from './slots.ts'

export interface Limits {
  readonly workers: number
  readonly queue: number
}

/** The settings of an operator for calls of upstream tools. The names are those of the environment variables. */
export interface GatewaySettings {
  readonly gateway_session_workers: number
  readonly gateway_session_queue: number
  readonly gateway_sessions: number
  readonly gateway_workers: number
  readonly gateway_common_workers: number
  readonly gateway_session_idle_seconds: number
  readonly gateway_session_end: SessionEnd
  readonly gateway_session_grace_seconds: number
  readonly gateway_question_seconds: number
}

/** The same principal with the same client has the same session id, also after a restart. */
export function sessionId(principal: PrincipalKey, { instance }: Client): string {
  const { kind, id } = parsePrincipalKey(principal)
  return createHash('sha256')
    .update(JSON.stringify([kind, id, instance]))
    .digest('hex')
    .slice(0, 24)
}

/** A client that calls upstream tools, and the slots that make its calls. */
export class Session {
  readonly id: string
  readonly principal: PrincipalKey
  readonly client: Client
  readonly lane: number
  readonly slots: Slots<GrantedCall>
  readonly open = new Set<string>()
  /** Admitted calls whose task is not created yet. */
  arriving = 0
  calls = 0
  readonly beganAt = Date.now()
  lastCallAt = Date.now()
  /** It accepts no more calls. */
  isEnded = false
  /** Set during the grace period before the session ends. */
  ending: NodeJS.Timeout | undefined
  readonly #limits: () => Limits

  constructor(
    principal: PrincipalKey,
    client: Client,
    lane: number,
    slots: Slots<GrantedCall>,
    limits: () => Limits,
  ) {
    this.id = sessionId(principal, client)
    this.principal = principal
    this.client = client
    this.lane = lane
    this.slots = slots
    this.#limits = limits
  }

  get limits(): Limits {
    return this.#limits()
  }

  get isFull(): boolean {
    return this.open.size + this.arriving >= this.#limits().queue
  }

  isIdle(now: number, idleMs: number): boolean {
    return this.slots.isIdle && this.arriving === 0 && now - this.lastCallAt >= idleMs
  }

  view(instance: string): SessionView {
    const { workers, queue } = this.#limits()
    const { name, version } = this.client
    const { running } = this.slots
    return {
      session_id: this.id,
      principal: this.principal,
      client: { name, version },
      instance,
      state: this.ending === undefined ? 'live' : 'ending',
      workers,
      queue,
      running,
      waiting: Math.max(0, this.open.size + this.arriving - running),
      calls: this.calls,
      began_at: isoTime(this.beganAt),
      last_call_at: isoTime(this.lastCallAt),
    }
  }
}

/**
 * The lanes of sessions, numbered from 1. Calls stay in the lane of their session when the session ends, and lanes are
 * reused, so their number is bounded.
 */
export class SessionLanes {
  readonly #count: number
  readonly #taken = new Set<number>()

  constructor(count: number) {
    this.#count = count
  }

  get taken(): ReadonlySet<number> {
    return this.#taken
  }

  /**
   * The same session gets the same lane if it is free, so that it finds its earlier calls. Lanes that no other server uses
   * come first. Undefined if all lanes are taken.
   */
  take(sessionId: string, isElsewhere: (lane: number) => boolean): number | undefined {
    const first = createHash('sha256').update(sessionId).digest().readUInt32BE(0) % this.#count
    const inTurn = Array.from({ length: this.#count }, (_, i) => ((first + i) % this.#count) + 1)
    const free = inTurn.filter((lane) => !this.#taken.has(lane))
    const lane = free.find((each) => !isElsewhere(each)) ?? free[0]
    if (lane !== undefined) this.#taken.add(lane)
    return lane
  }

  release(lane: number): void {
    this.#taken.delete(lane)
  }
}

export interface SessionsOptions {
  readonly gate: Gate
  readonly upstreams: Pick<Upstreams, 'tenant' | 'list' | 'call' | 'mayRepeat' | 'timeoutMs' | 'endSession'>
  /** The tenant of the upstreams and of their sessions. */
  readonly tenantName: string
  readonly entries: Entries
  /** Whether other servers use the same database. */
  readonly shared: boolean
  readonly settings: GatewaySettings
  /** How long running calls may take to end when the server stops. */
  readonly stopMs?: number
  report(error: unknown): void
}

export function noRoom(details: Readonly<Record<string, string | number>>): Fault {
  return new Fault('SESSION_LIMIT_EXCEEDED', details)
}
