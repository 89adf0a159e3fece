import { readdirSync, readFileSync } from 'node:fs'
import type pg from 'pg'
import { CLOCK } from './time.ts'

interface Migration {
  readonly number: number
  readonly name: string
}

/** Lower numbers are of versions before the first release. */
const FIRST = 100

const FOLDER = new URL('./migrations/', import.meta.url)

/** Any number, as long as every process takes the same. */
const LOCK = 0x6173796e63

/** Brings the schema up to date. Of several processes that start together, one does it and the others wait. */
export async function migrate(client: pg.Client): Promise<void> {
  const known = knownMigrations()
  const newest = known.at(-1)?.number ?? 0
  // A database that is up to date is only looked at: its role may have no right to change the schema.
  if ((await appliedNumber(client, newest)) === newest) return

  await client.query('BEGIN')
  await client.query('SET LOCAL lock_timeout = 60000')
  await client.query('SET LOCAL statement_timeout = 0')
  await client.query('SET LOCAL idle_in_transaction_session_timeout = 60000')
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
  await client.query(
    'CREATE TABLE IF NOT EXISTS migrations (number int PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)',
  )
  const applied = await appliedNumber(client, newest)
  for (const { number, name } of known) {
    if (number <= applied) continue
    await client.query(readFileSync(new URL(name, FOLDER), 'utf8'))
    await client.query(`INSERT INTO migrations VALUES ($1, $2, ${CLOCK})`, [number, name])
  }
  await client.query('COMMIT')
}

async function appliedNumber(client: pg.Client, newest: number): Promise<number> {
  const { rows: tables } = await client.query<{ found: boolean }>(
    `SELECT to_regclass('migrations') IS NOT NULL AS found`,
  )
  if (!tables.some((row) => row.found)) return 0
  const { rows } = await client.query<{ number: number | null }>(
    'SELECT max(number) AS number FROM migrations',
  )
  const applied = rows[0]?.number ?? 0
  if (applied > newest) {
    throw new Error(
      `its schema is number ${applied}, and this version of AsyncGate knows only up to ${newest}; ` +
        'start the version that last used it, or a newer one',
    )
  }
  if (applied > 0 && applied < FIRST) {
    throw new Error(
      `its schema is number ${applied}, from a version before the first release, and cannot be converted; ` +
        'choose another database, or finish its tasks with the version that last used it',
    )
  }
  return applied
}

export function knownMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .map((name) => ({ number: Number.parseInt(name, 10), name }))
    .sort((a, b) => a.number - b.number)
}
