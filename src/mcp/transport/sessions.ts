import { hash } from 'node:crypto'
import type { ServerEventBus } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import { Fault } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import type { ServerDefinition } from '../server.ts'
import { type Introduction, readSessionId } from './client-instance.ts'
import { EventBudget } from './resumable-stream.ts'
import { ClientSession, type SessionDeps } from './session.ts'

export interface SessionLimits {
  /** In one process. */
  readonly total: number
  /** Of one bound principal. The callers of a shared key share the total. */
  readonly perPrincipal: number
  /** How long an idle session is held. */
  readonly idleMs: number
  /** How long a call continues after its client has disconnected from a stream that it can resume. */
  readonly resumeMs: number
}

const LIMITS: SessionLimits = {
  total: 10_000,
  perPrincipal: 1_000,
  idleMs: 60 * 60_000,
  resumeMs: 15_000,
}

/** The ended sessions that are remembered, so that their ids are refused. */
const MAX_ENDED = 10_000

const SWEEP_EVERY_MS = 60_000

/** A session moves to the end of the queue at most this often. */
const TOUCH_EVERY_MS = 1_000

export interface SessionsDeps {
  readonly definition: ServerDefinition
  readonly bus: ServerEventBus
  readonly limits?: Partial<SessionLimits>
  readonly now?: () => number
}

/**
 * The sessions of one process. A session belongs to a credential: the same id with another one is another session. A
 * session that is not known here was created by another server, before a restart, or was dropped; its id says all that
 * is needed to create it again, so that clients need no sticky routing.
 */
export class Sessions {
  readonly #deps: SessionDeps
  readonly #limits: SessionLimits
  readonly #now: () => number
  /** The least recently used first. */
  readonly #sessions = new Map<string, ClientSession>()
  readonly #counts = new Map<string, number>()
  readonly #ended = new Set<string>()
  /** Clients that opened a stream without a session. */
  readonly #anonymous = new Set<ClientSession>()
  readonly #unsubscribe: () => void
  readonly #sweeps: NodeJS.Timeout

  constructor({ definition, bus, limits, now = Date.now }: SessionsDeps) {
    this.#limits = { ...LIMITS, ...limits }
    this.#deps = { definition, budget: new EventBudget(), resumeMs: this.#limits.resumeMs }
    this.#now = now
    this.#unsubscribe = bus.subscribe((event) => {
      for (const session of this.#sessions.values()) void session.changed(event)
      for (const session of this.#anonymous) void session.changed(event)
    })
    this.#sweeps = setInterval(() => this.sweep(), SWEEP_EVERY_MS).unref()
  }

  get size(): number {
    return this.#sessions.size
  }

  /** The session of a header; undefined if the header has no usable id. Throws if the client has ended the session. */
  of(credential: Credential, header: string | undefined): ClientSession | undefined {
    if (header === undefined) return undefined
    const key = keyOf(credential, header)
    const known = this.#sessions.get(key)
    if (known !== undefined) {
      if (this.#now() - known.lastUsed >= TOUCH_EVERY_MS) this.used(known)
      return known
    }
    const introduction = readSessionId(header)
    if (introduction === undefined) return undefined
    if (this.#ended.has(digest(key))) throw new Fault('MCP_SESSION_NOT_FOUND')
    return this.create(credential, introduction)
  }

  create(credential: Credential, introduction: Introduction): ClientSession {
    const scope = scopeOf(credential)
    const { total, perPrincipal } = this.#limits
    if (this.#sessions.size >= total) this.#dropOldest(() => true)
    if (credential.kind === 'bound' && (this.#counts.get(scope) ?? 0) >= perPrincipal)
      this.#dropOldest((session) => scopeOf(session.credential) === scope)
    const session = new ClientSession(credential, introduction, this.#now(), this.#deps)
    this.#sessions.set(keyOf(credential, introduction.client.instance), session)
    this.#counts.set(scope, (this.#counts.get(scope) ?? 0) + 1)
    return session
  }

  /** A client without a session, until its stream is closed. */
  anonymous(credential: Credential): ClientSession {
    const client = { instance: '', name: null, version: null }
    const session = new ClientSession(
      credential,
      { client, capabilities: new Set() },
      this.#now(),
      this.#deps,
    )
    this.#anonymous.add(session)
    return session
  }

  left(session: ClientSession): void {
    if (this.#anonymous.delete(session)) session.close()
  }

  /** The session is now the most recently used one. */
  used(session: ClientSession): void {
    const key = keyOf(session.credential, session.introduction.client.instance)
    if (this.#sessions.get(key) !== session) return
    session.lastUsed = this.#now()
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
  }

  /** Ends a session at the request of its client. */
  end(credential: Credential, header: string): void {
    const key = keyOf(credential, header)
    this.#ended.add(digest(key))
    for (const oldest of this.#ended) {
      if (this.#ended.size <= MAX_ENDED) break
      this.#ended.delete(oldest)
    }
    this.#drop(key)
  }

  /** Drops the sessions that have been idle for too long. */
  sweep(): void {
    const before = this.#now() - this.#limits.idleMs
    for (const [key, session] of this.#sessions) {
      if (session.lastUsed > before) return
      if (session.isIdle) this.#drop(key)
    }
  }

  close(): void {
    clearInterval(this.#sweeps)
    this.#unsubscribe()
    for (const key of [...this.#sessions.keys()]) this.#drop(key)
    for (const session of this.#anonymous) this.left(session)
  }

  /** Sessions in use are never dropped; their number is limited by that of the connections. */
  #dropOldest(isCandidate: (session: ClientSession) => boolean): void {
    for (const [key, session] of this.#sessions) {
      if (!session.isIdle || !isCandidate(session)) continue
      this.#drop(key)
      return
    }
  }

  #drop(key: string): void {
    const session = this.#sessions.get(key)
    if (session === undefined) return
    this.#sessions.delete(key)
    const scope = scopeOf(session.credential)
    const left = (this.#counts.get(scope) ?? 1) - 1
    if (left === 0) this.#counts.delete(scope)
    else this.#counts.set(scope, left)
    session.close()
  }
}

/** The sessions and streams of a bound principal count together, as do those of a shared key. */
export function scopeOf(credential: Credential): string {
  return credential.kind === 'bound'
    ? `${credential.tenant} ${principalKey(credential.principal)}`
    : credential.tenant
}

function keyOf(credential: Credential, id: string): string {
  return `${scopeOf(credential)} ${id}`
}

function digest(key: string): string {
  return hash('sha256', key, 'base64url')
}
