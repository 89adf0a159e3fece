import type { Database } from '../config/database.ts'
import type { Store } from '../store/store.ts'

/** Opens the database and applies migrations. Only the code of the configured store is loaded. */
export async function openStore(database: Database): Promise<Store> {
  if (database.kind === 'sqlite') {
    const { openSqliteStore } = await import('../store/sqlite/store.ts')
    return openSqliteStore({ path: database.path })
  }
  const { openPostgresStore } = await import('../store/postgres/store.ts')
  return openPostgresStore({ url: database.url })
}
