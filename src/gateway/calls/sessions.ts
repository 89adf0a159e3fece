import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../../core/errors.ts'
import { type Caller, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TaskEvent } from '../../engine/events.ts'
import type {
  Admission,
  Client,
  EndedSession,
  SessionEnd,
  Sessions,
  SessionView,
  SetSession,
} from '../../features/sessions/sessions.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'
import { COMMON_SESSION_LANE, TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import { Semaphore } from '../../util/semaphore.ts'
import { AskedCalls } from './asked-calls.ts'
import { Due } from './due.ts'
import { CallMaker } from './make-call.ts'
import { Peers, PUBLISH_EVERY_MS } from './peers.ts'
import { noRoom, Session, SessionLanes, type SessionsOptions, sessionId } from './session.ts'
import { cancelCalls, SessionEnds } from './session-ends.ts'
import { SessionLimits } from './session-limits.ts'
import { Slots } from './slots.ts'

const LEASE_MS = 60_000
const TICK_MS = 5_000
/** Announcements of ready calls can be lost, so slots also look for calls at this interval. */
const LOOK_EVERY_MS = 30_000
const STOP_MS = 3_000

const BEING_ENDED = 'The session is being ended. A later call begins a new one.'

/** The sessions of the clients of one tenant that call upstream tools. */
export class GatewaySessions implements Sessions {
  readonly tenant: number
  readonly #options: SessionsOptions
  readonly #sessions = new Map<string, Session>()
  readonly #byLane = new Map<number, Session>()
  /** The sessions of the open calls, by task id. */
  readonly #calls = new Map<string, Session>()
  readonly #lanes: SessionLanes
  readonly #permits: Semaphore
  readonly #limits: SessionLimits
  readonly #peers: Peers
  readonly #ends: SessionEnds
  readonly #maker: CallMaker
  readonly #asked: AskedCalls
  /** Calls that this server released because they are open at another one. */
  readonly #elsewhere = new Set<string>()
  /**
   * Makes the calls that belong to no session of a server: calls created over REST, and calls whose session had ended when they were approved,
   * retried or recovered after a restart.
   */
  readonly #orphans: Slots<GrantedCall>
  readonly #due = new Due((lane, count) => this.#slotsOf(lane).wake(count))
  readonly #stopping = new Set<Promise<void>>()
  #unlisten = () => {}
  #timer: NodeJS.Timeout | undefined
  #ticking: Promise<void> | undefined
  #sweeping: Promise<void> | undefined
  #lookedAt = 0
  #publishedAt = 0

  constructor(options: SessionsOptions) {
    const { gate, upstreams, entries, shared, settings, report } = options
    const { tenant } = upstreams
    this.#options = options
    this.tenant = tenant
    this.#lanes = new SessionLanes(settings.gateway_sessions)
    this.#permits = new Semaphore(settings.gateway_workers)
    const limits = { workers: settings.gateway_session_workers, queue: settings.gateway_session_queue }
    this.#limits = new SessionLimits({ entries, tenant, shared }, limits, report)
    this.#peers = new Peers({ entries, tenant, shared, instance: gate.settings.instance_id })
    this.#ends = new SessionEnds({
      entries,
      tenant,
      shared,
      instance: gate.settings.instance_id,
      end: (id, mode) => this.#endOwn(id, mode),
      report,
    })
    const caller = gate.toolCalls.caller(options.tenantName)
    this.#asked = new AskedCalls({
      gate,
      tenant,
      entries,
      shared,
      look: () => this.#lookEverywhere(),
      report,
    })
    this.#maker = new CallMaker({
      gate,
      tenant,
      caller,
      upstreams,
      asked: this.#asked,
      questionMs: settings.gateway_question_seconds * 1000,
      elsewhere: (taskId) => this.#elsewhere.add(taskId),
      isLive: (id) => this.#sessions.has(id),
      report,
    })
    this.#orphans = this.#slots(
      () => settings.gateway_common_workers,
      () => {
        const isFree = (lane: number) => !this.#byLane.has(lane) && !this.#peers.lanes.has(lane)
        return [...new Set([COMMON_SESSION_LANE, ...gate.toolCalls.sessionLanes(tenant)])].filter(isFree)
      },
    )
  }

  #slots(limit: () => number, lanes: () => readonly number[]): Slots<GrantedCall> {
    const { gate, report } = this.#options
    return new Slots({
      limit,
      permits: this.#permits,
      claim: () => gate.toolCalls.claim(this.tenant, lanes, LEASE_MS),
      make: (call) => this.#maker.make(call),
      report,
    })
  }

  async start(): Promise<void> {
    const { gate } = this.#options
    await this.#limits.start()
    await this.#peers.refresh()
    this.#unlisten = gate.onTask((event) => this.#onTask(event))
    gate.toolCalls.sessions.set(this.tenant, this)
    await gate.toolCalls.recover(this.tenant)
    await this.#asked.sweep()
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
    this.#ends.start()
    this.#orphans.look()
  }

  /** Waits a while for running calls; the others are released and made after the next start. */
  async stop(): Promise<void> {
    const { gate, report } = this.#options
    clearInterval(this.#timer)
    gate.toolCalls.sessions.delete(this.tenant)
    await this.#ticking
    await this.#ends.stop()
    // Calls of ended sessions are not started any more.
    const orphans = this.#orphans.stop()
    const ending = [...this.#sessions.values()].filter((session) => session.ending !== undefined)
    for (const session of ending) await this.#finish(session, 'cancel').catch(report)
    for (const session of [...this.#sessions.values()]) this.#end(session)
    const stopped = Promise.all([orphans, ...this.#stopping])
    await Promise.race([stopped, pause(this.#options.stopMs ?? STOP_MS, undefined, { ref: false })])
    this.#maker.stop()
    await stopped
    await this.#sweeping
    await this.#asked.stop()
    this.#unlisten()
    this.#due.stop()
    await this.#peers.publish([], []).catch(report)
    await this.#limits.stop()
  }

  /** For tests and diagnostics. */
  get counts() {
    return {
      sessions: this.#sessions.size,
      lanes: this.#lanes.taken.size,
      calls: this.#calls.size,
      making: this.#maker.making,
      permits: this.#permits.held,
      due: this.#due.size,
      stopping: this.#stopping.size,
      asked: this.#asked.size,
    }
  }

  /** Exchanges sessions with other servers now instead of at the next interval. */
  publishNow(): Promise<void> {
    return this.#compare()
  }

  admit(caller: Caller, client: Client): Admission {
    const session = this.#enter(principalKey(caller.principal), client)
    if (session.isFull) {
      const { queue } = session.limits
      throw noRoom({ setting: 'ASYNCGATE_GATEWAY_SESSION_QUEUE', limit: queue, session_id: session.id })
    }
    session.arriving += 1
    session.calls += 1
    session.lastCallAt = Date.now()
    return {
      session_id: session.id,
      sessionLane: session.lane,
      created: (taskId) => {
        session.arriving -= 1
        session.open.add(taskId)
        this.#calls.set(taskId, session)
      },
      dropped: () => {
        session.arriving -= 1
      },
    }
  }

  submitted(lane: number): void {
    this.#slotsOf(lane).wake()
  }

  async list(): Promise<readonly SessionView[]> {
    await this.#peers.refresh()
    return [...this.#views(), ...this.#peers.sessions]
  }

  async set(change: SetSession): Promise<SessionView | undefined> {
    const isKnown = (await this.list()).some(({ session_id }) => session_id === change.session_id)
    if (!isKnown) return undefined
    await this.#limits.set(change)
    this.#sessions.get(change.session_id)?.slots.fill()
    const found = (await this.list()).find(({ session_id }) => session_id === change.session_id)
    return found && { ...found, ...this.#limits.of(change.session_id) }
  }

  async end(sessionId: string, mode?: SessionEnd): Promise<EndedSession | undefined> {
    const session = this.#sessions.get(sessionId)
    const how = mode ?? this.#options.settings.gateway_session_end
    if (session !== undefined) {
      return { session_id: sessionId, ended: true, canceled: await this.#finish(session, how) }
    }
    await this.#peers.refresh()
    const elsewhere = this.#peers.sessions.find(({ session_id }) => session_id === sessionId)
    if (elsewhere === undefined) return undefined
    const answer = await this.#ends.ask(sessionId, elsewhere.instance, how)
    if (answer !== undefined) return { session_id: sessionId, ended: true, canceled: answer }
    const canceled = how === 'cancel' ? await this.#cancelCalls(sessionId) : 0
    return { session_id: sessionId, ended: false, canceled }
  }

  /** Executes the order of another server. */
  async #endOwn(sessionId: string, mode: SessionEnd): Promise<number> {
    const session = this.#sessions.get(sessionId)
    if (session === undefined) return 0
    const canceled = await this.#finish(session, mode)
    await this.#peers.publish([...this.#byLane.keys()], this.#views())
    return canceled
  }

  left(instance: string, principal: PrincipalKey | undefined): void {
    const { gateway_session_end, gateway_session_grace_seconds } = this.#options.settings
    for (const session of [...this.#sessions.values()]) {
      if (session.client.instance !== instance) continue
      if (principal !== undefined && session.principal !== principal) continue
      if (gateway_session_end === 'run') this.#end(session)
      else
        session.ending ??= setTimeout(
          () => void this.#finish(session, 'cancel').catch(this.#options.report),
          gateway_session_grace_seconds * 1000,
        ).unref()
    }
  }

  #enter(principal: PrincipalKey, client: Client): Session {
    const known = this.#sessions.get(sessionId(principal, client))
    if (known === undefined) return this.#begin(principal, client)
    if (known.isEnded) throw new Fault('SESSION_NOT_FOUND', { session_id: known.id }, BEING_ENDED)
    // The client is back within the grace period.
    clearTimeout(known.ending)
    known.ending = undefined
    return known
  }

  #begin(principal: PrincipalKey, client: Client): Session {
    const id = sessionId(principal, client)
    const lane = this.#takeLane(id)
    const limits = () => this.#limits.of(id)
    const slots = this.#slots(
      () => limits().workers,
      () => [lane],
    )
    const session = new Session(principal, client, lane, slots, limits)
    this.#sessions.set(id, session)
    this.#byLane.set(lane, session)
    // An earlier session of the lane may have left calls.
    if (this.#options.gate.toolCalls.sessionLanes(this.tenant).includes(lane)) slots.look()
    return session
  }

  #takeLane(id: string): number {
    const isElsewhere = (lane: number) => this.#peers.lanes.has(lane)
    const lane = this.#lanes.take(id, isElsewhere)
    if (lane !== undefined) return lane
    const idle = [...this.#sessions.values()].filter(({ open, arriving }) => open.size + arriving === 0)
    const [longest] = idle.sort((a, b) => a.lastCallAt - b.lastCallAt)
    if (longest !== undefined) this.#end(longest)
    const freed = longest && this.#lanes.take(id, isElsewhere)
    if (freed !== undefined) return freed
    const limit = this.#options.settings.gateway_sessions
    throw noRoom({ setting: 'ASYNCGATE_GATEWAY_SESSIONS', limit })
  }

  /** Resolves with the number of canceled calls. */
  async #finish(session: Session, mode: SessionEnd): Promise<number> {
    session.isEnded = true
    // No call may start that is about to be canceled.
    if (mode === 'cancel') void session.slots.stop()
    const canceled = mode === 'cancel' ? await this.#cancelCalls(session.id) : 0
    this.#end(session)
    return canceled
  }

  /** Frees the lane. The slots for orphaned calls make the remaining calls. */
  #end(session: Session): void {
    if (this.#sessions.get(session.id) !== session) return
    clearTimeout(session.ending)
    this.#sessions.delete(session.id)
    this.#byLane.delete(session.lane)
    this.#lanes.release(session.lane)
    for (const taskId of session.open) this.#calls.delete(taskId)
    this.#options.upstreams.endSession(session.id)
    const stopped = session.slots.stop().finally(() => this.#stopping.delete(stopped))
    this.#stopping.add(stopped)
    if (session.open.size + session.arriving > 0) this.#orphans.look()
  }

  #cancelCalls(sessionId: string): Promise<number> {
    return cancelCalls(this.#options.gate, this.#options.tenantName, sessionId)
  }

  #onTask(event: TaskEvent): void {
    if (event.type !== TOOL_CALL || event.tenant !== this.tenant) return
    if (isTerminal(event.status)) {
      this.#ended(event.task_id)
      this.#asked.ended(event.task_id)
    }
    // The server at which the call is open has to claim it.
    if (this.#elsewhere.delete(event.task_id)) return
    const ready = this.#options.gate.toolCalls.ready(event)
    if (ready === undefined) return
    if (ready.in_ms === 0) this.#slotsOf(ready.sessionLane).wake()
    else this.#due.add(ready.sessionLane, ready.in_ms)
  }

  #ended(taskId: string): void {
    this.#calls.get(taskId)?.open.delete(taskId)
    this.#calls.delete(taskId)
  }

  #slotsOf(lane: number): Slots<GrantedCall> {
    return this.#byLane.get(lane)?.slots ?? this.#orphans
  }

  #views(): SessionView[] {
    const { instance_id } = this.#options.gate.settings
    return [...this.#sessions.values()].map((session) => session.view(instance_id))
  }

  #tick(): void {
    const { settings, shared, upstreams, report } = this.#options
    const now = Date.now()
    for (const session of [...this.#sessions.values()]) {
      if (session.isIdle(now, settings.gateway_session_idle_seconds * 1000)) this.#end(session)
    }
    if (now - this.#lookedAt >= LOOK_EVERY_MS) {
      this.#lookedAt = now
      for (const { slots, open } of this.#sessions.values()) if (open.size > slots.running) slots.look()
      if (!shared && upstreams.list().length > 0) this.#orphans.look()
      if (upstreams.list().length > 0) this.#sweep()
    }
    if (!shared) return
    if (upstreams.list().length > 0) this.#orphans.look()
    if (now - this.#publishedAt < PUBLISH_EVERY_MS) return
    this.#publishedAt = now
    this.#ticking ??= this.#compare()
      .catch(report)
      .finally(() => {
        this.#ticking = undefined
      })
  }

  #lookEverywhere(): void {
    for (const { slots } of this.#sessions.values()) slots.look()
    this.#orphans.look()
  }

  #sweep(): void {
    this.#sweeping ??= this.#asked
      .sweep()
      .catch(this.#options.report)
      .finally(() => {
        this.#sweeping = undefined
      })
  }

  /** Exchanges sessions with other servers and forgets calls that ended elsewhere. */
  async #compare(): Promise<void> {
    await this.#peers.refresh()
    await this.#peers.publish([...this.#byLane.keys()], this.#views())
    const open = [...this.#calls.keys()]
    for (const taskId of await this.#options.gate.toolCalls.ended(this.tenant, open)) this.#ended(taskId)
  }
}
