import { Fault } from '../../core/errors.ts'
import type { ToolCall } from '../../features/sessions/tool-calls.ts'
import { backoff } from '../../util/backoff.ts'
import { isNotRun } from '../upstreams/upstream-fault.ts'

/** A failed call, as far as it matters for whether it is made again. */
export interface FailedCall {
  readonly call: ToolCall
  readonly fault: Fault
  /** Whether the request was written, or may have been. */
  readonly isSent: boolean
  /** Whether the call may be sent again although it may have had its effect. */
  mayRepeat(): boolean
}

export interface Failure {
  readonly fault: Fault
  readonly retryable: boolean
}

/**
 * A call that has certainly not run may be made again, and one that may have run only if that does no harm. Otherwise
 * the failure is final, and says that the effect of the call is not known.
 */
export function failureOf({ call, fault, isSent, mayRepeat }: FailedCall): Failure {
  if (!isSent || isNotRun(fault) || !fault.retryable) return { fault, retryable: fault.retryable }
  if (mayRepeat()) return { fault, retryable: true }
  // A timeout says itself that the call may have had its effect.
  return { fault: fault.code === 'UPSTREAM_TIMEOUT' ? fault : unknownOutcome(call, fault), retryable: false }
}

/** The failure of a call that was under way when the gate stopped. */
export function stopFailure(call: ToolCall, mayRepeat: boolean): Failure {
  const { upstream } = call
  const fault = new Fault('UPSTREAM_UNAVAILABLE', { upstream, problem: STOPPED })
  return mayRepeat ? { fault, retryable: true } : { fault: unknownOutcome(call, fault), retryable: false }
}

const STOPPED = 'the gate stopped while the call was under way'

function unknownOutcome({ upstream, tool }: ToolCall, { message, details }: Fault): Fault {
  const { problem = message, status, upstream_message } = details
  return new Fault('UPSTREAM_OUTCOME_UNKNOWN', {
    upstream,
    tool,
    problem,
    ...(status !== undefined && { status }),
    ...(upstream_message !== undefined && { upstream_message }),
  })
}

/** A longer pause than that is not made, whatever an upstream asks for. */
const MAX_ASKED_MS = 3_600_000
/** Pauses double up to this one, whatever the task says. */
const MAX_PAUSE_MS = 30_000

/** When to try again: not before the upstream says, and never after a longer pause than is sensible. */
export function pauseOf(
  fault: Fault,
  baseSeconds: number,
  attempt: number,
): { retry_after_seconds?: number } {
  const usual = backoff(attempt + 1, baseSeconds * 1000)
  const asked = Math.min(askedPause(fault) ?? 0, MAX_ASKED_MS)
  if (asked <= usual && usual <= MAX_PAUSE_MS) return {}
  return { retry_after_seconds: Math.ceil(Math.max(asked, Math.min(usual, MAX_PAUSE_MS)) / 1000) }
}

/** In how many ms a call can be made that was held back because its upstream is being connected, or spared. */
export function heldBackFor(fault: Fault): number | undefined {
  const isHeldBack =
    fault.code === 'UPSTREAM_UNAVAILABLE' && isNotRun(fault) && fault.details.status === undefined
  return isHeldBack ? askedPause(fault) : undefined
}

function askedPause({ details }: Fault): number | undefined {
  return typeof details.retry_after_ms === 'number' ? details.retry_after_ms : undefined
}

/** No call waits longer for its upstream. */
const MAX_MS = 3_600_000

/** How long calls have been waiting for upstreams that are not connected, from when they first found them so. */
export class Patience {
  readonly #since = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get size(): number {
    return this.#since.size
  }

  /** Whether the call may still wait, given the longest that it may. */
  lasts(taskId: string, maxMs: number): boolean {
    const now = this.#now()
    const since = this.#since.get(taskId)
    if (since !== undefined) return now - since < maxMs
    // A call that was canceled while it waited is not heard of again.
    for (const [id, began] of this.#since) {
      if (now - began < MAX_MS) break
      this.#since.delete(id)
    }
    this.#since.set(taskId, now)
    return maxMs > 0
  }

  /** The call waits no more. */
  end(taskId: string): void {
    this.#since.delete(taskId)
  }
}
