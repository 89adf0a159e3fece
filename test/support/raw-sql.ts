import pg from 'pg'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import type { Bench } from './gates.ts'

type Row = Readonly<Record<string, unknown>>

/** Runs a statement on the database of a gate, past the store. */
export async function rawSql({ file, url }: Pick<Bench, 'file' | 'url'>, statement: string): Promise<Row[]> {
  if (file !== undefined) {
    const database = await openDatabase(file)
    try {
      if (/^select/i.test(statement)) return database.prepare(statement).all() as Row[]
      database.exec(statement)
      return []
    } finally {
      database.close()
    }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}
