import type { Claim, LeaseClaim, Release } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { type Caller, GATEWAY, gatewayWorkerId, principalKey } from '../../core/principal.ts'
import { originOf } from '../../core/question.ts'
import type { QueuedTask } from '../../core/task.ts'
import { isTerminal, type Status } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskEvent } from '../../engine/events.ts'
import { type OfferView, offerView } from '../leases/shape.ts'
import type { RedactionDeps } from '../policies/results.ts'
import { askForUpstream, type UpstreamQuestion } from '../questions/submit-question.ts'
import type { Schemas } from '../task-types/schemas.ts'
import type { WorkerRegistry } from '../workers/registry.ts'
import type { Sessions } from './sessions.ts'
import { sessionLaneName, sessionLaneOf, TOOL_CALL } from './tool-calls.ts'

type LeaseKey = Pick<LeaseClaim, 'task_id' | 'lease_id' | 'worker_id'>

/** A call that was leased to the gateway. */
export interface GrantedCall {
  readonly offer: OfferView
  readonly task: QueuedTask
  readonly sessionLane: number
}

/** A call is ready, or will be. */
export interface ReadyCall {
  readonly sessionLane: number
  /** Delay until it is ready, in ms. */
  readonly in_ms: number
}

interface ToolCallDeps extends RedactionDeps {
  readonly workers: WorkerRegistry
  readonly schemas: Schemas
}

/** The queue from which the gateway takes tool calls. Callers of the gate have no access to it. */
export class ToolCallQueue {
  readonly #deps: ToolCallDeps
  readonly #engine: Engine
  readonly #workers: WorkerRegistry
  /** The sessions by tenant. The gateway adds those of each tenant that has upstreams. */
  readonly sessions = new Map<number, Sessions>()

  constructor(deps: ToolCallDeps) {
    this.#deps = deps
    this.#engine = deps.engine
    this.#workers = deps.workers
  }

  /** The principal that holds the leases of the gateway. */
  caller(tenant: string): Caller {
    return { tenant, principal: GATEWAY, role: 'worker' }
  }

  get workerId(): string {
    return gatewayWorkerId(this.#engine.settings.instance_id)
  }

  /** Leases the next call of these session lanes. */
  async claim(
    tenant: number,
    sessionLanes: () => readonly number[],
    ttlMs: number,
  ): Promise<GrantedCall | undefined> {
    const claimed = sessionLanes()
    const command: Claim = {
      verb: 'claim',
      expected_duration: null,
      tenant,
      holder: principalKey(this.caller('').principal),
      worker_id: this.workerId,
      instance_id: null,
      capabilities: claimed.map(sessionLaneName),
      accept_types: [TOOL_CALL],
      max_tasks: 1,
      ttl_ms: this.#atMost(ttlMs),
    }
    const { granted, now } = await this.#engine.submit(command)
    const [handout] = granted
    if (handout === undefined) {
      // The claim itself may have loaded further session lanes at which calls wait.
      const known = new Set(claimed)
      return sessionLanes().every((sessionLane) => known.has(sessionLane))
        ? undefined
        : this.claim(tenant, sessionLanes, ttlMs)
    }
    this.#workers.saw(command, { capabilities: [], accept_types: [TOOL_CALL] })
    this.#workers.took(command, 1)
    const sessionLane = this.#sessionLaneAt(tenant, handout.task.lane)
    return { offer: offerView(handout, now), task: handout.task, sessionLane: sessionLane ?? 0 }
  }

  /** Renews the lease of a call, without a limit on renewals. Resolves with the remaining time in ms. */
  async renew(tenant: number, key: LeaseKey, extendMs: number): Promise<number> {
    const holder = principalKey(this.caller('').principal)
    const extend_ms = this.#atMost(extendMs)
    const { expires_at, now } = await this.#engine.submit({
      verb: 'renew',
      unlimited: true,
      tenant,
      holder,
      extend_ms,
      ...key,
    })
    return expires_at - now
  }

  /** Parks a call until the question of its upstream is answered, and ends the lease. */
  async ask(tenantName: string, key: LeaseKey, question: UpstreamQuestion, expiresMs: number): Promise<void> {
    const tenant = await this.#engine.tenant(tenantName)
    const holder = principalKey(this.caller('').principal)
    await askForUpstream(this.#deps, tenant, { tenant: tenant.tenant, holder, ...key }, question, expiresMs)
  }

  /**
   * Closes the open question of an upstream, so that the gateway can claim the call again. Resolves with whether there
   * was one.
   */
  async withdraw(tenant: number, task_id: string, reason: string): Promise<boolean> {
    const record = await this.#engine.reading(() => this.#engine.store.reads.task(tenant, task_id))
    const question = record?.questions.find(
      ({ n, state }) => n === record.task.question_count && state === 'open',
    )
    if (question === undefined || originOf(question) !== 'upstream') return false
    try {
      const { role } = this.caller('')
      const answer = canonical({ reason })
      const { n, asked_by: by } = question
      const withdrawal = { decision: 'withdraw', reason: null, answer, content_hash: null } as const
      await this.#engine.submit({ verb: 'answer', tenant, task_id, n, by, role, ...withdrawal })
      return true
    } catch (error) {
      // It was answered or expired a moment ago.
      if (error instanceof Fault && error.code === 'ALREADY_DECIDED') return false
      throw error
    }
  }

  /** `onEnd` is called when the task has ended for any reason. Returns an unsubscribe function. */
  watch(tenant: number, taskId: string, onEnd: () => void): () => void {
    return this.#engine.wakeups.watch(tenant, taskId, onEnd)
  }

  /** Those of the tasks that have ended. */
  async ended(tenant: number, taskIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.statuses(tenant, taskIds)
    return rows.filter(({ status }) => isTerminal(status)).map(({ task_id }) => task_id)
  }

  async statuses(
    tenant: number,
    taskIds: readonly string[],
  ): Promise<readonly { readonly task_id: string; readonly status: Status }[]> {
    return this.#engine.reading(() => this.#engine.store.reads.statuses(tenant, taskIds))
  }

  /**
   * The call that a change of a task makes ready. Undefined for a call that is created ready: its creator announces it
   * before the commit.
   */
  ready({ tenant, type, status, lane, created_at, wake_at, at }: TaskEvent): ReadyCall | undefined {
    if (type !== TOOL_CALL || status !== 'queued' || (created_at !== undefined && wake_at === null))
      return undefined
    const sessionLane = this.#sessionLaneAt(tenant, lane)
    return sessionLane === undefined
      ? undefined
      : { sessionLane, in_ms: wake_at === null ? 0 : Math.max(0, wake_at - at) }
  }

  /** Releases a call that was not sent. It is not leased again before the pause is over, and uses no attempt. */
  async release(tenant: number, key: LeaseKey, pauseMs = 0): Promise<void> {
    const holder = principalKey(this.caller('').principal)
    await this.#engine.submit({ verb: 'release', tenant, holder, pause_ms: Math.ceil(pauseMs), ...key })
  }

  /**
   * Ends the leases of earlier processes and resolves with their number. A database that is not shared belongs to one
   * process at a time, so the holders of all its leases are dead; in a shared database such leases expire. Each counts as
   * an expiry, because the call may have been sent.
   */
  async recover(tenant: number): Promise<number> {
    const { store, settings } = this.#engine
    if (store.shared) return 0
    const holder = principalKey(this.caller('').principal)
    let count = 0
    for (const status of ['leased', 'running'] as const) {
      const lines = await store.reads.scan(tenant, { by: 'status', status }, Number.MAX_SAFE_INTEGER, 10_000)
      const ids = lines.filter(({ type }) => type === TOOL_CALL).map(({ task_id }) => task_id)
      for (const { task } of await store.reads.tasks(tenant, ids)) {
        if (task.status !== 'leased' && task.status !== 'running') continue
        const { task_id, lease } = task
        if (lease.holder !== holder) continue
        const { worker_id, lease_id } = lease
        const release: Release = { verb: 'release', tenant, holder, worker_id, task_id, lease_id }
        try {
          await this.#engine.submit({ ...release, recovered_by: settings.instance_id })
          count++
        } catch (error) {
          // The lease has just expired, which has the same effect.
          if (!(error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED')) throw error
        }
      }
    }
    return count
  }

  /** The session lanes at which calls are known to be ready. */
  sessionLanes(tenant: number): readonly number[] {
    const sessionLanes = new Set<number>()
    for (const { capabilities } of this.#engine.directory.of(tenant).ready.lanesOf(TOOL_CALL)) {
      const sessionLane = sessionLaneOf(capabilities)
      if (sessionLane !== undefined) sessionLanes.add(sessionLane)
    }
    return [...sessionLanes]
  }

  /** The maximum duration of a lease applies to the gateway too. */
  #atMost(ms: number): number {
    return Math.min(ms, this.#engine.settings.max_lease_ttl_seconds * 1000)
  }

  #sessionLaneAt(tenant: number, lane: number): number | undefined {
    return sessionLaneOf(this.#engine.directory.of(tenant).get(lane)?.capabilities ?? [])
  }
}
