import { type Duration, milliseconds } from './duration.ts'

export interface FailureOptions {
  /** A word for programs, such as `NO_SUCH_PAGE`. */
  readonly code?: string
  /** Anything in JSON that helps whoever reads the failure. */
  readonly details?: object
  readonly cause?: unknown
}

/** Thrown by a handler: the task has failed for good, and another try would not help. */
export class Permanent extends Error {
  override readonly name: string = 'Permanent'
  readonly code: string | undefined
  readonly details: object | undefined

  constructor(message: string, options: FailureOptions = {}) {
    super(message, causeOf(options))
    this.code = options.code
    this.details = options.details
  }
}

export interface RetryOptions extends FailureOptions {
  /** When to try again. By default the backoff of the task decides. */
  readonly after?: Duration
}

/** Thrown by a handler: it is to be tried again. Every error that is not `Permanent` means the same. */
export class RetryableError extends Error {
  override readonly name: string = 'RetryableError'
  readonly code: string | undefined
  readonly details: object | undefined
  readonly afterMs: number | undefined

  constructor(message: string, options: RetryOptions = {}) {
    super(message, causeOf(options))
    this.code = options.code
    this.details = options.details
    this.afterMs = options.after === undefined ? undefined : milliseconds(options.after)
  }
}

/** Thrown by a handler: try again, but not before this time has passed. */
export class RetryAfter extends RetryableError {
  override readonly name: string = 'RetryAfter'

  constructor(after: Duration, message = `Try again after ${after}.`, options: FailureOptions = {}) {
    super(message, { ...options, after })
  }
}

/**
 * Ends the run of a handler that has asked something, with no attempt spent; it is run anew when there is an answer. Let it
 * pass: whatever a handler does after it counts for nothing.
 */
export class Parked extends Error {
  override readonly name: string = 'Parked'

  constructor() {
    super(
      'The handler has asked something: it ends here, and is run anew with the answer. Do not catch this.',
    )
  }
}

/** Why a handler is to stop. */
export type AbortKind =
  /** Somebody canceled the task. Nobody wants its result any more. */
  | 'canceled'
  /** The lease is over: another worker may have the task, and nothing of this one counts any more. */
  | 'lease_lost'
  /** The worker stops. What does not end now is given back, and another worker begins it anew. */
  | 'shutdown'

/** The `reason` of `ctx.signal`, and so what an aborted `fetch` throws. */
export class TaskAborted extends Error {
  override readonly name: string = 'TaskAborted'
  readonly kind: AbortKind

  constructor(kind: AbortKind, message: string = WHY[kind]) {
    super(message)
    this.kind = kind
  }
}

const WHY: Readonly<Record<AbortKind, string>> = {
  canceled: 'The task was canceled.',
  lease_lost: 'The lease is over; the task may be with another worker.',
  shutdown: 'The worker stops.',
}

function causeOf({ cause }: FailureOptions): ErrorOptions | undefined {
  return cause === undefined ? undefined : { cause }
}
