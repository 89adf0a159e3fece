import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'

/** Where a gate stores its data: a file, or the URL of a database. */
export type Place = { readonly sqlite: string } | { readonly postgres: string }

/** With `now` the clock of the store stands still. */
export function openStore(place: Place, now?: number): Promise<Store> {
  const clock = now === undefined ? {} : { now: () => now }
  return 'sqlite' in place
    ? openSqliteStore({ path: place.sqlite, ...clock })
    : openPostgresStore({ url: place.postgres, ...clock })
}
