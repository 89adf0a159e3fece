import { createHash } from 'node:crypto'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Client, SessionView } from '../../features/sessions/sessions.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import type { Slots } from './slots.ts'

export interface Limits {
  readonly workers: number
  readonly queue: number
}

export interface SessionParts {
  readonly principal: PrincipalKey
  readonly client: Client
  readonly seat: number
  readonly slots: Slots<GrantedCall>
  limits(): Limits
}

/** The same principal with the same client is the same session, before and after a restart. */
export function sessionId(principal: PrincipalKey, { instance }: Client): string {
  const { kind, id } = parsePrincipalKey(principal)
  return createHash('sha256')
    .update(JSON.stringify([kind, id, instance]))
    .digest('hex')
    .slice(0, 24)
}

/** A client that calls tools of upstreams, and the slots that make its calls. */
export class Session {
  readonly id: string
  readonly principal: PrincipalKey
  readonly client: Client
  readonly seat: number
  readonly slots: Slots<GrantedCall>
  /** The calls that have not ended. */
  readonly open = new Set<string>()
  /** Calls that are on their way to be tasks. */
  arriving = 0
  calls = 0
  readonly beganAt = Date.now()
  lastCallAt = Date.now()
  /** Takes no more calls. */
  isEnded = false
  /** Runs while it is about to end. */
  ending: NodeJS.Timeout | undefined
  readonly #limits: () => Limits

  constructor(parts: SessionParts) {
    this.id = sessionId(parts.principal, parts.client)
    this.principal = parts.principal
    this.client = parts.client
    this.seat = parts.seat
    this.slots = parts.slots
    this.#limits = parts.limits
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
