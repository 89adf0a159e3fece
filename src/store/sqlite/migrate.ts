import { readdirSync, readFileSync } from 'node:fs'
import { connectReader, type Database, type Driver, rollBack } from './database.ts'

interface Migration {
  readonly number: number
  readonly name: string
}

/** Lower numbers are of versions before the first release. */
const FIRST = 100

const FOLDER = new URL('./migrations/', import.meta.url)

/** Brings the schema up to date. Each migration is a transaction, so an interrupted one is simply done again. */
export function migrate(database: Database, now: number): void {
  database.exec(
    'CREATE TABLE IF NOT EXISTS migrations ' +
      '(number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
  )
  const known = knownMigrations()
  const newest = known.at(-1)?.number ?? 0
  const { applied } = database
    .prepare('SELECT coalesce(max(number), 0) AS applied FROM migrations')
    .get() as {
    applied: number
  }
  if (applied > newest) {
    throw new Error(
      `its schema is number ${applied}, and this version of AsyncGate knows only up to ${newest}; ` +
        'start the version that last used it, or a newer one',
    )
  }
  if (applied > 0 && applied < FIRST) {
    throw new Error(
      `its schema is number ${applied}, from a version before the first release, and cannot be converted; ` +
        'choose another file, or finish its tasks with the version that last used it',
    )
  }
  const record = database.prepare('INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, ?)')
  for (const { number, name } of known) {
    if (number <= applied) continue
    database.exec('BEGIN IMMEDIATE')
    try {
      database.exec(readFileSync(new URL(name, FOLDER), 'utf8'))
      record.run(number, name, now)
      database.exec('COMMIT')
    } catch (error) {
      rollBack(database)
      throw error
    }
  }
}

/** Refuses a file whose schema would have to be migrated under its running server. */
export function checkSchema(path: string, driver: Driver): void {
  const database = connectReader(path, driver)
  try {
    const newest = knownMigrations().at(-1)?.number ?? 0
    const { applied } = database.prepare('SELECT max(number) AS applied FROM migrations').get() as {
      applied: number | null
    }
    if (applied === newest) return
    throw new Error('its server has another version of AsyncGate; stop that server, or use the same version')
  } finally {
    database.close()
  }
}

export function knownMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .map((name) => ({ number: Number.parseInt(name, 10), name }))
    .sort((a, b) => a.number - b.number)
}
