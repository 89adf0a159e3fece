import { existsSync } from 'node:fs'
import type { Database } from '../../config/database.ts'
import { connectTo, end } from '../../store/postgres/database.ts'
import { knownMigrations as postgresMigrations } from '../../store/postgres/migrate.ts'
import { openReader } from '../../store/sqlite/database.ts'
import { knownMigrations as sqliteMigrations } from '../../store/sqlite/migrate.ts'

/** How a database stands, looked at without changing it. */
export interface Schema {
  /** False if the file is still to be made. */
  readonly exists: boolean
  /** The number of the newest migration that was applied; 0 if none was. */
  readonly applied: number
  readonly newest: number
  /** Names of the migrations that are still to be applied. */
  readonly pending: readonly string[]
  /** The latest time that the database knows, in milliseconds; its clock, or that of its last commit. */
  readonly time: number | undefined
}

export function readSchema(database: Database): Promise<Schema> {
  return database.kind === 'sqlite' ? readSqlite(database.path) : readPostgres(database.url)
}

async function readSqlite(path: string): Promise<Schema> {
  const known = sqliteMigrations()
  if (path === ':memory:' || !existsSync(path)) return schema(false, 0, undefined, known)
  const database = await openReader(path)
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE name = 'migrations'`).all()
    if (tables.length === 0) return schema(true, 0, undefined, known)
    const row = database.prepare('SELECT coalesce(max(number), 0) AS applied FROM migrations').get()
    const { applied } = row as { readonly applied: number }
    if (applied === 0) return schema(true, 0, undefined, known)
    const last = database.prepare('SELECT max(committed_at) AS at FROM tenants').get()
    return schema(true, applied, (last as { readonly at: number | null }).at ?? undefined, known)
  } finally {
    database.close()
  }
}

async function readPostgres(url: string): Promise<Schema> {
  const known = postgresMigrations()
  const connections = connectTo(url)
  try {
    const client = await connections.client()
    try {
      const { rows } = await client.query<{ found: boolean; time: number }>(
        `SELECT to_regclass('migrations') IS NOT NULL AS found,
                (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time`,
      )
      const [now] = rows
      if (now?.found !== true) return schema(true, 0, now?.time, known)
      const applied = await client.query<{ number: number | null }>(
        'SELECT max(number) AS number FROM migrations',
      )
      return schema(true, applied.rows[0]?.number ?? 0, now.time, known)
    } finally {
      await end(client)
    }
  } finally {
    await connections.pool.end()
  }
}

function schema(
  exists: boolean,
  applied: number,
  time: number | undefined,
  known: readonly { readonly number: number; readonly name: string }[],
): Schema {
  const pending = known.filter(({ number }) => number > applied).map(({ name }) => name)
  return { exists, applied, newest: known.at(-1)?.number ?? 0, pending, time }
}
