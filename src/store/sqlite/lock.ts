import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Database, openDatabase } from './database.ts'
import { isBusy } from './failure.ts'

export interface Lock {
  close(): void
}

/**
 * The locks of this process, by file. POSIX locks do not hold within one process; and a connection that no code
 * refers to is closed by the garbage collector, which would release the lock.
 */
const held = new Map<string, Database | undefined>()

/**
 * Makes this process the only server of a database file. The lock is an exclusive transaction on an empty file
 * beside it, so the system releases it with the process, however that ends. The file itself stays: deleting it
 * could take away the lock that another process has just got.
 */
export async function lockFile(path: string): Promise<Lock> {
  const file = realFile(path)
  if (held.has(file)) throw inUse('this process')
  held.set(file, undefined)
  try {
    const database = await openDatabase(`${file}-lock`)
    takeLock(database)
    held.set(file, database)
    return {
      close() {
        database.close()
        held.delete(file)
      },
    }
  } catch (error) {
    held.delete(file)
    throw error
  }
}

function takeLock(database: Database): void {
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw isBusy(error) ? inUse('another process') : error
  }
}

/** The file behind links, so that two names of one file share one lock. It may not exist yet. */
function realFile(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return join(realpathSync(dirname(path)), basename(path))
  }
}

/** Another server has the database. */
export class DatabaseInUse extends Error {}

function inUse(by: string): Error {
  return new DatabaseInUse(
    `it is in use by ${by}. A SQLite database has one server: stop the other one, use another file, ` +
      'or use PostgreSQL to run several',
  )
}
