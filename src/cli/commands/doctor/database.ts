import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Database, withoutPassword } from '../../../config/database.ts'
import { openDatabase } from '../../../store/sqlite/database.ts'
import { lockFile } from '../../../store/sqlite/lock.ts'
import { readSchema, type Schema } from '../schema.ts'
import type { Finding } from './machine.ts'

/** With a larger clock difference, leases would appear to end too early or too late. */
const MAX_SKEW_MS = 5_000
const LONG_AGO = Date.UTC(2025, 0)

export async function checkDriver(): Promise<Finding> {
  const check = 'sqlite'
  try {
    const database = await openDatabase(':memory:')
    database.close()
    const builtin = process.getBuiltinModule('node:sqlite') !== undefined
    return { check, ok: true, detail: builtin ? 'node:sqlite' : 'better-sqlite3' }
  } catch (error) {
    const detail = reasonOf(error)
    return { check, ok: false, detail, fix: 'Use Node 22.13 or later, or run "npm install better-sqlite3".' }
  }
}

/** `isServed`: whether a server is running on this database and holds the lock of its file. */
export async function checkDatabase(
  database: Database,
  isServed: boolean,
): Promise<{ finding: Finding; time: number | undefined; isReady: boolean }> {
  const check = 'database'
  const name = database.kind === 'sqlite' ? database.path : withoutPassword(database.url)
  try {
    const schema = await readSchema(database)
    const finding =
      (database.kind === 'sqlite' && (await fileProblem(database.path, schema, isServed))) ||
      schemaFinding(name, schema)
    return { finding, time: schema.time, isReady: schema.applied === schema.newest }
  } catch (error) {
    const fix =
      database.kind === 'sqlite'
        ? 'Check ASYNCGATE_DATABASE_URL: the file must be a SQLite database that this user can write.'
        : 'Check that PostgreSQL runs, and user, password, host and name in ASYNCGATE_DATABASE_URL.'
    const detail = `${name} cannot be read: ${reasonOf(error)}`
    return { finding: { check, ok: false, detail, fix }, time: undefined, isReady: false }
  }
}

function schemaFinding(name: string, { exists, applied, newest, pending }: Schema): Finding {
  const check = 'database'
  if (!exists) return { check, ok: true, detail: `${name} will be created at the first start` }
  if (applied > newest) {
    const detail = `${name} has schema ${applied}, and this version supports only up to ${newest}`
    return {
      check,
      ok: false,
      detail,
      fix: 'Use the version of AsyncGate that last used the database, or a newer one.',
    }
  }
  if (pending.length === 0) return { check, ok: true, detail: `${name}, schema ${applied}` }
  const fix = 'Run "asyncgate migrate"; a server that starts does the same.'
  return { check, ok: false, detail: `${name} lacks ${pending.join(', ')}`, fix }
}

async function fileProblem(path: string, schema: Schema, isServed: boolean): Promise<Finding | undefined> {
  if (path === ':memory:') return undefined
  const check = 'database'
  let place = schema.exists ? path : dirname(resolve(path))
  while (!existsSync(place)) place = dirname(place)
  try {
    accessSync(place, constants.W_OK)
  } catch {
    const fix = `Give this user write permission for ${place}, or change ASYNCGATE_DATABASE_URL.`
    return { check, ok: false, detail: `${place} is not writable`, fix }
  }
  if (!schema.exists || isServed) return undefined
  try {
    const lock = await lockFile(path)
    lock.close()
    return undefined
  } catch (error) {
    const fix = 'Stop the other server, use another file, or use PostgreSQL to run several.'
    return { check, ok: false, detail: `${path}: ${reasonOf(error).split('.')[0]}`, fix }
  }
}

/** Compares the clock of this machine with that of PostgreSQL, or with the last commit in the SQLite file. */
export function checkClock({ kind }: Database, time: number | undefined, now = Date.now()): Finding {
  const check = 'clock'
  const fix = 'Correct the clock of this machine and synchronize it with NTP.'
  if (now < LONG_AGO)
    return { check, ok: false, detail: `the clock shows ${new Date(now).toISOString()}`, fix }
  const skew = time === undefined ? 0 : Math.round(now - time)
  const isWrong = kind === 'postgres' ? Math.abs(skew) > MAX_SKEW_MS : skew < -MAX_SKEW_MS
  if (!isWrong) return { check, ok: true, detail: new Date(now).toISOString() }
  const direction = skew < 0 ? 'behind' : 'ahead of'
  const detail = `the clock is ${Math.abs(skew / 1000)} s ${direction} ${kind === 'postgres' ? 'the clock of the database' : 'the last change in the file'}`
  return { check, ok: false, detail, fix }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}
