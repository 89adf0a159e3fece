import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'

/**
 * Why a call is abandoned: its task ended, its lease was lost, the server stops, or it waited as long as a lease can
 * last.
 */
export type GivenUp = 'ended' | 'lost' | 'stopping' | 'waited'

/** A call that runs longer is shown as running. Most calls end sooner and save this commit. */
const START_AFTER_MS = 250

const RENEWAL_MS = 60_000

export interface HeldDeps {
  readonly gate: Gate
  readonly tenant: number
  readonly caller: Caller
  report(error: unknown): void
}

/** The lease of a running call: renewed while the call runs, and abandoned when it is lost. */
export class HeldCall {
  readonly #deps: HeldDeps
  readonly #controller = new AbortController()
  readonly #key: { readonly task_id: string; readonly lease_id: string; readonly worker_id: string }
  readonly #unwatch: () => void
  readonly #hasTimeout: boolean
  #timer: NodeJS.Timeout
  #expiresAt: number
  #reason: GivenUp | undefined
  #isSent = false
  #isAnswered = false
  #isAsking = false

  constructor(deps: HeldDeps, { offer, task }: GrantedCall) {
    const { gate, tenant } = deps
    this.#deps = deps
    this.#hasTimeout = task.timeout_seconds !== null
    this.#key = { task_id: offer.task_id, lease_id: offer.lease_id, worker_id: gate.toolCalls.workerId }
    this.#expiresAt = performance.now() + offer.expires_in_ms
    this.#unwatch = gate.toolCalls.watch(tenant, offer.task_id, () => {
      if (!this.#isAsking) this.giveUp('ended')
    })
    this.#timer = setTimeout(() => void this.#start(), START_AFTER_MS)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Set once the call is abandoned. */
  get reason(): GivenUp | undefined {
    return this.#reason
  }

  get key() {
    return this.#key
  }

  giveUp(reason: GivenUp): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    if (!this.#isAnswered) this.#controller.abort(new Error(`The call was given up: ${reason}.`))
  }

  /** The request is about to be written. */
  sent(): void {
    this.#isSent = true
  }

  /** Whether the upstream may have received the call. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** The task is about to be parked by a question of the upstream, which ends the lease but not the call. */
  asks(isAsking: boolean): void {
    this.#isAsking = isAsking
  }

  /** The upstream has responded. From now on only the lease is renewed, until the outcome is reported. */
  answered(): void {
    this.#isAnswered = true
    this.#unwatch()
  }

  /** Call this when the outcome was reported, or never will be. */
  close(): void {
    clearTimeout(this.#timer)
    this.#unwatch()
  }

  async #start(): Promise<void> {
    const { gate, caller } = this.#deps
    this.#plan()
    await gate.startTask(caller, this.#key).catch((error: unknown) => this.#refused(error))
  }

  #plan(): void {
    const left = this.#expiresAt - performance.now()
    this.#timer = setTimeout(() => void this.#renew(), Math.max(100, (left * 2) / 3))
  }

  async #renew(): Promise<void> {
    const { gate, tenant } = this.#deps
    if (this.#expiresAt <= performance.now()) return this.giveUp('lost')
    this.#plan()
    try {
      const leftMs = await gate.toolCalls.renew(tenant, this.#key, RENEWAL_MS)
      this.#expiresAt = performance.now() + leftMs
    } catch (error) {
      this.#refused(error)
    }
  }

  /** Other errors are temporary: the next renewal tries again. */
  #refused(error: unknown): void {
    const code = error instanceof Fault ? error.code : undefined
    if (code === 'LEASE_INVALID_OR_EXPIRED' || code === 'TASK_NOT_FOUND') this.giveUp('lost')
    // The call continues under a new lease. A task with a timeout has to time out instead.
    else if (code === 'LEASE_LIFETIME_EXCEEDED' && !this.#isSent && !this.#hasTimeout) this.giveUp('waited')
    else if (code === undefined) this.#deps.report(error)
  }
}
