import type { Problem } from './schema.ts'
import { type Duration, milliseconds, wholeSeconds } from './timing.ts'

export interface FailureOptions {
  /** A machine-readable code, such as `NO_SUCH_PAGE`. */
  readonly code?: string
  /** JSON that helps to diagnose the failure. */
  readonly details?: object
  readonly cause?: unknown
}

export interface RetryOptions extends FailureOptions {
  /** When to retry. By default, the backoff of the task applies. */
  readonly after?: Duration
}

abstract class HandlerError extends Error {
  readonly code: string | undefined
  readonly details: object | undefined

  constructor(message: string, { code, details, cause }: FailureOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.details = details
  }
}

/** Thrown by a handler: the task fails permanently, without a retry. */
export class Permanent extends HandlerError {
  override readonly name: string = 'Permanent'
}

/** Thrown by a handler: the task is retried. Any error that is not `Permanent` has the same effect. */
export class RetryableError extends HandlerError {
  override readonly name: string = 'RetryableError'
  readonly afterMs: number | undefined

  constructor(message: string, options: RetryOptions = {}) {
    super(message, options)
    this.afterMs = options.after === undefined ? undefined : milliseconds(options.after)
  }
}

/** Thrown by a handler: the task is retried, but not before this time has passed. */
export class RetryAfter extends RetryableError {
  override readonly name: string = 'RetryAfter'

  constructor(after: Duration, message = `Try again after ${after}.`, options: FailureOptions = {}) {
    super(message, { ...options, after })
  }
}

/**
 * Ends the run of a handler that has asked a question, without using up an attempt. The handler runs again when the
 * question is answered. Do not catch it: anything that a handler does afterwards is discarded.
 */
export class Parked extends Error {
  override readonly name: string = 'Parked'

  constructor() {
    super('The handler has asked a question. It ends here and runs again with the answer. Do not catch this.')
  }
}

/** Why a handler must stop. */
export type AbortKind =
  /** The task was canceled, and its result is no longer needed. */
  | 'canceled'
  /** The lease has ended. Another worker may have the task, and nothing that this one reports is accepted. */
  | 'lease_lost'
  /** The worker stops. A task that does not end now is released, and another worker starts it from scratch. */
  | 'shutdown'

/** The `reason` of `ctx.signal`, and therefore what an aborted `fetch` throws. */
export class TaskAborted extends Error {
  override readonly name: string = 'TaskAborted'
  readonly kind: AbortKind

  constructor(kind: AbortKind, message: string = ABORT_MESSAGES[kind]) {
    super(message)
    this.kind = kind
  }
}

const ABORT_MESSAGES: Readonly<Record<AbortKind, string>> = {
  canceled: 'The task was canceled.',
  lease_lost: 'The lease has ended; another worker may have the task.',
  shutdown: 'The worker is stopping.',
}

/** `ctx.signal`: its reason says why the handler must stop. */
export interface TaskSignal extends AbortSignal {
  readonly reason: TaskAborted
}

/** The body of `fail`. */
export interface Failure {
  readonly error: Readonly<Record<string, unknown>>
  readonly retryable: boolean
  readonly retry_after_seconds?: number
}

const MAX_TEXT = 2000
const MAX_DETAILS = 8000
const ONE_YEAR = 365 * 24 * 3600

/** The `fail` body for an error that a handler threw. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Permanent) return { error: errorBody(thrown, 'PERMANENT'), retryable: false }
  if (thrown instanceof RetryableError && thrown.afterMs !== undefined) {
    const retry_after_seconds = Math.min(wholeSeconds(thrown.afterMs), ONE_YEAR)
    return { error: errorBody(thrown, 'RETRY'), retryable: true, retry_after_seconds }
  }
  return { error: errorBody(thrown, 'HANDLER_ERROR'), retryable: true }
}

/** The payload or the result does not match its schema. */
export function schemaFailure(side: 'INPUT' | 'OUTPUT', problems: readonly Problem[]): Failure {
  const { path = '', message = 'does not match its schema' } = problems[0] ?? {}
  const name = side === 'INPUT' ? 'payload' : 'result'
  const text = clean(`${path === '' ? name : `${name}.${path}`}: ${message}`)
  return { error: { code: `INVALID_${side}`, message: text, details: { path, problems } }, retryable: false }
}

/** The server refuses the result or the question of a handler. */
export function refusedFailure(what: 'RESULT' | 'QUESTION', code: string, message: string): Failure {
  const error = { code: `${what}_REFUSED`, message: clean(message), details: { code } }
  const hint = 'Return less, or give the worker "results" to store large results elsewhere.'
  const isTooLarge = what === 'RESULT' && code === 'PAYLOAD_TOO_LARGE'
  return { error: isTooLarge ? { ...error, hint } : error, retryable: false }
}

/** The same failure without the parts that the server could refuse; undefined if nothing is left to remove. */
export function bareFailure(failure: Failure): Failure | undefined {
  if (failure.error.code === 'ERROR_REFUSED') return undefined
  const message = 'The handler failed, and the server refused its error.'
  return { ...failure, error: { code: 'ERROR_REFUSED', message } }
}

function errorBody(thrown: unknown, fallback: string): Failure['error'] {
  if (!(thrown instanceof Error)) return { code: fallback, message: clean(String(thrown)) }
  const code = 'code' in thrown && thrown.code !== undefined ? clean(String(thrown.code)) : fallback
  const details = 'details' in thrown ? smallJson(thrown.details) : undefined
  return {
    code,
    name: clean(thrown.name),
    message: clean(thrown.message),
    ...(details !== undefined && { details }),
  }
}

/** Text that the server accepts. */
function clean(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll('\0', '')
}

function smallJson(value: unknown): unknown {
  try {
    return JSON.stringify(value).length <= MAX_DETAILS ? value : undefined
  } catch {
    return undefined
  }
}
