import pg from 'pg'
import { StoreError } from '../store.ts'

/**
 * SQLSTATEs, whole or their class, that say nothing about the statement: the server is away, overloaded, stopping
 * or read-only, another transaction was in the way, or the session is not what it was.
 */
const UNAVAILABLE = ['08', '25', '26', '40', '53', '55P03', '57', '58']

const IDLE_IN_TRANSACTION = '25P03'

/** For what failed before COMMIT was sent, or was answered by the server. */
export function failure(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  return new StoreError(isRefusal(error) ? 'refused' : 'unavailable', error)
}

/** For the errors of statements that were sent together with COMMIT, in their order; the last is that of COMMIT. */
export function commitFailure(errors: readonly unknown[]): StoreError {
  const first = errors.findIndex((error) => error !== undefined)
  const error = errors[first]
  // Only the server's word that a statement failed proves that nothing was committed: answers come in order.
  const isLast = first === errors.length - 1
  if (!isAnswer(error) || (isLast && error.severity !== 'ERROR')) return new StoreError('unknown', error)
  return failure(error)
}

/**
 * For what failed before COMMIT was sent: whether a new connection may do better. Either there was no answer, or the
 * database ended a transaction because this process stood still in the middle of it.
 */
export function isWorthRepeating(error: unknown): boolean {
  if (!(error instanceof StoreError) || error.reason !== 'unavailable') return false
  return !isAnswer(error.cause) || error.cause.code === IDLE_IN_TRANSACTION
}

function isRefusal(error: unknown): boolean {
  return isAnswer(error) && !UNAVAILABLE.some((state) => error.code?.startsWith(state))
}

function isAnswer(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError
}
