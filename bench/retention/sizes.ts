import { statSync } from 'node:fs'
import pg from 'pg'
import { openReader } from '../../dist/store/sqlite/database.js'
import type { Database } from '../engine/databases.ts'

export interface Sizes {
  /** What rows and indexes take, without space that can be used again. */
  readonly tables: number
  readonly files: number
}

export function sizesOf({ name, address }: Database): Promise<Sizes> {
  return name === 'sqlite' ? sqliteSizes(address) : postgresSizes(address)
}

async function sqliteSizes(path: string): Promise<Sizes> {
  const database = await openReader(path)
  const pragma = (name: string) => {
    const row = database.prepare(`SELECT ${name} AS value FROM pragma_${name}`).get()
    return (row as { readonly value: number }).value
  }
  try {
    const used = pragma('page_count') - pragma('freelist_count')
    return { tables: used * pragma('page_size'), files: statSync(path).size }
  } finally {
    database.close()
  }
}

/** Free space within the pages of PostgreSQL is not known, so the sizes of the tables are those of their live rows. */
async function postgresSizes(url: string): Promise<Sizes> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('VACUUM (ANALYZE)')
    const tables = await client.query<{ relname: string }>(
      `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace`,
    )
    let bytes = 0
    for (const { relname } of tables.rows) {
      const name = client.escapeIdentifier(relname)
      const sum = `SELECT coalesce(sum(pg_column_size(t.*)), 0) AS bytes FROM ${name} AS t`
      const { rows } = await client.query<{ bytes: string }>(sum)
      bytes += Number(rows[0]?.bytes)
    }
    const { rows } = await client.query<{ bytes: string }>(
      'SELECT pg_database_size(current_database()) AS bytes',
    )
    return { tables: bytes, files: Number(rows[0]?.bytes) }
  } finally {
    await client.end()
  }
}
