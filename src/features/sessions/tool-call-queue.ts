import type { Claim, LeaseClaim, Release } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { type Caller, GATEWAY, gatewayWorkerId, principalKey } from '../../core/principal.ts'
import type { QueuedTask } from '../../core/task.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { TaskEvent } from '../../engine/events.ts'
import { offerView } from '../leases/offer.ts'
import type { OfferView } from '../leases/shape.ts'
import type { Services } from '../services.ts'
import type { Sessions } from './sessions.ts'
import { seatName, seatOf, TOOL_CALL } from './tool-calls.ts'

type LeaseKey = Pick<LeaseClaim, 'task_id' | 'lease_id' | 'worker_id'>

/** A call that was leased to the gateway. */
export interface GrantedCall {
  readonly offer: OfferView
  readonly task: QueuedTask
  readonly seat: number
}

/** A call became ready, or will be. */
export interface ReadyCall {
  readonly seat: number
  /** In how many ms. */
  readonly in_ms: number
}

/** Where the gateway gets the calls that it makes. It is not open to callers of the gate. */
export class ToolCallDesk {
  readonly #engine: Services
  /** Who makes the calls, if anybody does. */
  sessions: Sessions | undefined

  constructor(engine: Services) {
    this.#engine = engine
  }

  /** As the gateway names itself to the gate: the holder of its leases. */
  caller(tenant: string): Caller {
    return { tenant, principal: GATEWAY, role: 'worker' }
  }

  get workerId(): string {
    return gatewayWorkerId(this.#engine.settings.instance_id)
  }

  /** Leases the call of these seats whose turn it is. */
  async claim(
    tenant: number,
    seats: () => readonly number[],
    ttlMs: number,
  ): Promise<GrantedCall | undefined> {
    const looked = seats()
    const command: Claim = {
      verb: 'claim',
      expected_duration: null,
      tenant,
      holder: principalKey(this.caller('').principal),
      worker_id: this.workerId,
      instance_id: null,
      capabilities: looked.map(seatName),
      accept_types: [TOOL_CALL],
      max_tasks: 1,
      ttl_ms: this.#atMost(ttlMs),
    }
    const { granted, now } = await this.#engine.submit(command)
    const [handout] = granted
    if (handout === undefined) {
      // The claim itself may have brought to light at which seats calls wait.
      const known = new Set(looked)
      return seats().every((seat) => known.has(seat)) ? undefined : this.claim(tenant, seats, ttlMs)
    }
    this.#engine.workers.saw(command, { capabilities: [], accept_types: [TOOL_CALL] })
    this.#engine.workers.took(command, 1)
    const seat = this.#seatAt(tenant, handout.task.lane)
    return { offer: offerView(handout, now), task: handout.task, seat: seat ?? 0 }
  }

  /** Keeps the lease of a call, as often as it takes. Resolves with the ms that are left of it. */
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

  /** Calls back when the task has ended, whoever ended it. Returns the way to stop watching. */
  watch(tenant: number, taskId: string, onEnd: () => void): () => void {
    return this.#engine.wakeups.watch(tenant, taskId, onEnd)
  }

  /** Which of these have ended. */
  async ended(tenant: number, taskIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#engine.reading(() => this.#engine.store.reads.statuses(tenant, taskIds))
    return rows.filter(({ status }) => isTerminal(status)).map(({ task_id }) => task_id)
  }

  /**
   * What a change of a task means for those who make calls. A call that is created or leased in the same commit is not
   * news: whoever creates one says so before.
   */
  ready({ tenant, type, status, lane, created_at, wake_at, at }: TaskEvent): ReadyCall | undefined {
    if (type !== TOOL_CALL || status !== 'queued' || (created_at !== undefined && wake_at === null))
      return undefined
    const seat = this.#seatAt(tenant, lane)
    return seat === undefined ? undefined : { seat, in_ms: wake_at === null ? 0 : Math.max(0, wake_at - at) }
  }

  /** Gives a call back that was not sent. Nobody leases it before the pause is over, and no attempt is spent. */
  async release(tenant: number, key: LeaseKey, pauseMs = 0): Promise<void> {
    const holder = principalKey(this.caller('').principal)
    await this.#engine.submit({ verb: 'release', tenant, holder, pause_ms: Math.ceil(pauseMs), ...key })
  }

  /**
   * Ends the leases of processes that were here before. Only one process at a time can have a database that is not
   * shared, so all of them are dead, whatever they called themselves; in a shared database their leases expire. Each
   * counts as an expiry: the call may have been sent. Resolves with how many.
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
          // It has just expired, which comes to the same.
          if (!(error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED')) throw error
        }
      }
    }
    return count
  }

  /** The seats at which calls are ready, as far as is known. */
  seats(tenant: number): readonly number[] {
    const seats = new Set<number>()
    for (const { capabilities } of this.#engine.directory.of(tenant).ready.lanesOf(TOOL_CALL)) {
      const seat = seatOf(capabilities)
      if (seat !== undefined) seats.add(seat)
    }
    return [...seats]
  }

  /** The limit of leases holds for the gateway too. */
  #atMost(ms: number): number {
    return Math.min(ms, this.#engine.settings.max_lease_ttl_seconds * 1000)
  }

  #seatAt(tenant: number, lane: number): number | undefined {
    return seatOf(this.#engine.directory.of(tenant).get(lane)?.capabilities ?? [])
  }
}
