import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import type { GrantedCall } from '../../features/sessions/tool-call-queue.ts'

/**
 * Why a call is given up: the task has ended without us, or the lease has; or the gate stops; or it has waited for its
 * turn as long as a lease can last.
 */
export type GivenUp = 'ended' | 'lost' | 'stopping' | 'waited'

/** Work that takes longer is shown as running. Most calls are over before, and are spared the commit. */
const START_AFTER_MS = 250

const RENEWAL_MS = 60_000

export interface HeldParts {
  readonly gate: Gate
  readonly tenant: number
  readonly caller: Caller
  report(error: unknown): void
}

/** The lease of a call that is being made: kept as long as it takes, and given up when it is somebody else's. */
export class HeldCall {
  readonly #parts: HeldParts
  readonly #controller = new AbortController()
  readonly #key: { readonly task_id: string; readonly lease_id: string; readonly worker_id: string }
  readonly #unwatch: () => void
  readonly #hasTimeout: boolean
  #timer: NodeJS.Timeout
  #expiresAt: number
  #reason: GivenUp | undefined
  #isSent = false
  #isAnswered = false

  constructor(parts: HeldParts, { offer, task }: GrantedCall) {
    const { gate, tenant } = parts
    this.#parts = parts
    this.#hasTimeout = task.timeout_seconds !== null
    this.#key = { task_id: offer.task_id, lease_id: offer.lease_id, worker_id: gate.toolCalls.workerId }
    this.#expiresAt = performance.now() + offer.expires_in_ms
    this.#unwatch = gate.toolCalls.watch(tenant, offer.task_id, () => this.giveUp('ended'))
    this.#timer = setTimeout(() => void this.#start(), START_AFTER_MS)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Set if the call is to be made no more. */
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

  /** Whether the upstream may have got the call. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** The upstream has done its part: from now on only the lease is kept, until the outcome is reported. */
  answered(): void {
    this.#isAnswered = true
    this.#unwatch()
  }

  /** To be called when the outcome was reported, or never will be. */
  close(): void {
    clearTimeout(this.#timer)
    this.#unwatch()
  }

  async #start(): Promise<void> {
    const { gate, caller } = this.#parts
    this.#plan()
    await gate.startTask(caller, this.#key).catch((error: unknown) => this.#refused(error))
  }

  #plan(): void {
    const left = this.#expiresAt - performance.now()
    this.#timer = setTimeout(() => void this.#renew(), Math.max(100, (left * 2) / 3))
  }

  async #renew(): Promise<void> {
    const { gate, tenant } = this.#parts
    if (this.#expiresAt <= performance.now()) return this.giveUp('lost')
    this.#plan()
    try {
      const leftMs = await gate.toolCalls.renew(tenant, this.#key, RENEWAL_MS)
      this.#expiresAt = performance.now() + leftMs
    } catch (error) {
      this.#refused(error)
    }
  }

  /** Whatever may pass is tried again as long as the lease lasts. */
  #refused(error: unknown): void {
    const code = error instanceof Fault ? error.code : undefined
    if (code === 'LEASE_INVALID_OR_EXPIRED' || code === 'TASK_NOT_FOUND') this.giveUp('lost')
    // It goes on under a new lease. A timeout of the task, however, is to be a timeout.
    else if (code === 'LEASE_LIFETIME_EXCEEDED' && !this.#isSent && !this.#hasTimeout) this.giveUp('waited')
    else if (code === undefined) this.#parts.report(error)
  }
}
