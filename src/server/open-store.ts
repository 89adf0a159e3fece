import type { Database } from '../config/database.ts'
import type { Store } from '../store/store.ts'

interface Options {
  /** Whether the database may have a running server, and is opened to read and write a few entries. */
  readonly besideServer?: boolean
}

/** Opens the database and applies migrations. Only the code of the configured store is loaded. */
export async function openStore(database: Database, { besideServer }: Options = {}): Promise<Store> {
  if (database.kind === 'sqlite') {
    const { openSqliteStore } = await import('../store/sqlite/store.ts')
    return openSqliteStore({ path: database.path, besideServer })
  }
  const { openPostgresStore } = await import('../store/postgres/store.ts')
  return openPostgresStore({ url: database.url })
}
