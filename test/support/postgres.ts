import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export interface FreshDatabase {
  readonly url: string
  /** Drops the database, with or without open connections, and its restricted role. */
  drop(): Promise<void>
}

/** The superuser's URL of the test server; undefined if there is none and the suite is skipped. */
export function postgresUrl(): string | undefined {
  return inject('postgresUrl')
}

/** Creates an empty database with a random name that starts with the given one. */
export async function freshDatabase(name = 'test'): Promise<FreshDatabase> {
  const server = postgresUrl()
  if (!server) throw new Error('No PostgreSQL: guard the suite with describe.skipIf(!postgresUrl())')
  const database = `${name}_${randomBytes(6).toString('hex')}`
  await execute(server, `create database ${quote(database)}`)
  const url = new URL(server)
  url.pathname = `/${database}`
  return {
    url: url.href,
    drop: () =>
      execute(
        server,
        `drop database if exists ${quote(database)} with (force)`,
        `drop role if exists ${quote(ownerOf(database))}`,
      ),
  }
}

/** Makes a new role, bound by row-level security, the owner of the database; returns the URL to log in as this role. */
export async function restrictedRole(databaseUrl: string): Promise<string> {
  const url = new URL(databaseUrl)
  const database = decodeURIComponent(url.pathname.slice(1))
  const role = ownerOf(database)
  const password = randomBytes(12).toString('hex')
  await execute(
    databaseUrl,
    `create role ${quote(role)} login nosuperuser nobypassrls nocreatedb nocreaterole password '${password}'`,
    `alter database ${quote(database)} owner to ${quote(role)}`,
  )
  url.username = role
  url.password = password
  return url.href
}

function ownerOf(database: string): string {
  return `${database}_owner`
}

const quote = pg.escapeIdentifier

/** Runs one statement at a time, since `create database` may not share an implicit transaction. */
async function execute(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Deletes all rows except the record of the migrations. Much faster than a new database. */
export async function emptyDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ statement: string }>(
    `SELECT format('DELETE FROM %I', tablename) AS statement FROM pg_tables
     WHERE schemaname = 'public' AND tablename <> 'migrations'`,
  )
  await client.query(rows.map((row) => row.statement).join(';'))
  await client.end()
}
