import type { Failure } from './calls.ts'
import { wholeSeconds } from './duration.ts'
import { Permanent, RetryableError } from './errors.ts'
import type { Problem } from './schema.ts'

const MAX_TEXT = 2000
const MAX_DETAILS = 8000
const ONE_YEAR = 365 * 24 * 3600

/** What the server is told of an error that a handler threw. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof Permanent) return { error: errorBody(thrown, 'PERMANENT'), retryable: false }
  if (thrown instanceof RetryableError && thrown.afterMs !== undefined) {
    const retry_after_seconds = Math.min(wholeSeconds(thrown.afterMs), ONE_YEAR)
    return { error: errorBody(thrown, 'RETRY'), retryable: true, retry_after_seconds }
  }
  return { error: errorBody(thrown, 'HANDLER_ERROR'), retryable: true }
}

/** The payload or the result does not fit its schema. */
export function misfit(side: 'INPUT' | 'OUTPUT', problems: readonly Problem[]): Failure {
  const [first] = problems
  const where = side === 'INPUT' ? 'payload' : 'result'
  const path = first === undefined || first.path === '' ? where : `${where}.${first.path}`
  const message = clean(`${path}: ${first?.message ?? 'does not fit'}`)
  return {
    error: { code: `INVALID_${side}`, message, details: { path: first?.path ?? '', problems } },
    retryable: false,
  }
}

/** The server does not take the result. */
export function refusedResult(code: string, message: string): Failure {
  const hint = 'Return less, or give the worker "results" to keep large ones elsewhere.'
  const error = { code: 'RESULT_REFUSED', message: clean(message), details: { code } }
  return { error: code === 'PAYLOAD_TOO_LARGE' ? { ...error, hint } : error, retryable: false }
}

/** The server does not take the question. */
export function refusedQuestion(code: string, message: string): Failure {
  const error = { code: 'QUESTION_REFUSED', message: clean(message), details: { code } }
  return { error, retryable: false }
}

/** The same failure, without anything that the server could refuse. */
export function bare(failure: Failure): Failure {
  const message = 'The handler failed, and the server did not take its error.'
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

/** Text that the server takes. */
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
