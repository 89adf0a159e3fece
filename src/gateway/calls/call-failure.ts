import { Fault } from '../../core/errors.ts'
import type { ToolCall } from '../../features/sessions/tool-calls.ts'
import { backoff } from '../../util/backoff.ts'
import { isNotRun } from '../upstreams/upstream-fault.ts'

export interface FailedCall {
  readonly call: ToolCall
  readonly fault: Fault
  /** Whether the request was, or may have been, written. */
  readonly isSent: boolean
  /** Whether the call may be repeated although it may have had its effect. */
  mayRepeat(): boolean
}

export interface Failure {
  readonly fault: Fault
  readonly retryable: boolean
}

/**
 * A call that certainly did not run may be retried; a call that may have run only if repeating it is harmless. Any
 * other failure is final and reports that the outcome is unknown.
 */
export function failureOf({ call, fault, isSent, mayRepeat }: FailedCall): Failure {
  if (!isSent || isNotRun(fault) || !fault.retryable) return { fault, retryable: fault.retryable }
  if (mayRepeat()) return { fault, retryable: true }
  // The message of a timeout says that the call may have had its effect.
  return { fault: fault.code === 'UPSTREAM_TIMEOUT' ? fault : unknownOutcome(call, fault), retryable: false }
}

/** The failure of a call that was running when the server stopped. */
export function stopFailure(call: ToolCall, mayRepeat: boolean): Failure {
  const { upstream } = call
  const fault = new Fault('UPSTREAM_UNAVAILABLE', { upstream, problem: STOPPED })
  return mayRepeat ? { fault, retryable: true } : { fault: unknownOutcome(call, fault), retryable: false }
}

const STOPPED = 'the server stopped while the call was running'

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

/** The maximum pause that an upstream can ask for. */
const MAX_ASKED_MS = 3_600_000
/** The maximum pause of the exponential backoff. */
const MAX_PAUSE_MS = 30_000

/** The pause before a retry, if it differs from the usual backoff of the task. */
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

/**
 * The time in ms until a call can be repeated that was rejected because its upstream is connecting or its circuit is
 * open.
 */
export function heldBackFor(fault: Fault): number | undefined {
  const isHeldBack =
    fault.code === 'UPSTREAM_UNAVAILABLE' && isNotRun(fault) && fault.details.status === undefined
  return isHeldBack ? askedPause(fault) : undefined
}

function askedPause({ details }: Fault): number | undefined {
  return typeof details.retry_after_ms === 'number' ? details.retry_after_ms : undefined
}

/** The maximum time that a call waits for its upstream. */
const MAX_MS = 3_600_000

/** Measures how long calls have been waiting for upstreams that are not connected. */
export class Patience {
  readonly #since = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get size(): number {
    return this.#since.size
  }

  lasts(taskId: string, maxMs: number): boolean {
    const now = this.#now()
    const since = this.#since.get(taskId)
    if (since !== undefined) return now - since < maxMs
    // Drops the entries of calls that were canceled while they waited.
    for (const [id, began] of this.#since) {
      if (now - began < MAX_MS) break
      this.#since.delete(id)
    }
    this.#since.set(taskId, now)
    return maxMs > 0
  }

  end(taskId: string): void {
    this.#since.delete(taskId)
  }
}
