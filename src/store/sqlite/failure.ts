import { StoreError } from '../store.ts'

type Codes = Readonly<Record<string, number>>

/** Result codes by which SQLite says that the statement is at fault, not the disk or another process. */
const REFUSALS: Codes = {
  SQLITE_ERROR: 1,
  SQLITE_TOOBIG: 18,
  SQLITE_CONSTRAINT: 19,
  SQLITE_MISMATCH: 20,
  SQLITE_RANGE: 25,
}

const CONSTRAINT_PRIMARY_KEY = 1555

const DISK_FAULTS: Codes = { SQLITE_IOERR: 10 }
const NOT_COMMITTED: Codes = { SQLITE_BUSY: 5, SQLITE_FULL: 13 }

/** Runs statements; what they throw becomes a StoreError. */
export function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new StoreError(isRefusal(error) ? 'refused' : 'unavailable', error)
  }
}

/** Runs a write in a separate transaction. */
export function attemptChange<T>(work: () => T): T {
  try {
    return attempt(work)
  } catch (error) {
    if (error instanceof StoreError && hasCode(error.cause, DISK_FAULTS)) {
      throw new StoreError('unknown', error.cause)
    }
    throw error
  }
}

/**
 * Runs COMMIT. If it fails, what it has written may be found when the file is opened again, unless it could not begin to
 * write or had no room for the end.
 */
export function attemptCommit(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    throw new StoreError(hasCode(error, NOT_COMMITTED) ? 'unavailable' : 'unknown', error)
  }
}

/** Runs what cannot be at fault itself: BEGIN and reads. */
export function attemptAvailable<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new StoreError('unavailable', error)
  }
}

export function isBusy(error: unknown): boolean {
  return hasCode(error, { SQLITE_BUSY: 5 })
}

/** Whether a row of that key was there already. */
export function isTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error) return error.errcode === CONSTRAINT_PRIMARY_KEY
  return 'code' in error && error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY'
}

/** An error without a result code is about a value that cannot be bound. */
function isRefusal(error: unknown): boolean {
  return hasCode(error, REFUSALS) || !isSqlite(error)
}

/** node:sqlite gives the extended code, whose low byte is the primary one; better-sqlite3 gives its name. */
function hasCode(error: unknown, codes: Codes): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && typeof error.errcode === 'number') {
    return Object.values(codes).includes(error.errcode & 0xff)
  }
  if (!('code' in error) || typeof error.code !== 'string') return false
  const [, primary = ''] = /^(SQLITE_[A-Z]+)/.exec(error.code) ?? []
  return primary in codes
}

function isSqlite(error: unknown): boolean {
  return (
    error instanceof Error &&
    ('errcode' in error || ('code' in error && String(error.code).startsWith('SQLITE_')))
  )
}
