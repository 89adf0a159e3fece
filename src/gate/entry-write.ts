import { Fault } from '../core/errors.ts'
import type { Entries } from '../store/entries.ts'
import { StoreError } from '../store/store.ts'
import type { Engine } from './engine.ts'

/** Writes an entry, telling the caller of an outage as it would be told by a command. */
export async function writing<T>(engine: Engine, write: (entries: Entries) => Promise<T>): Promise<T> {
  try {
    return await write(engine.store.entries)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    engine.report(error)
    // Over a connection the write may have happened before it broke.
    const isUnknown = engine.store.shared || error.reason === 'unknown'
    throw new Fault(isUnknown ? 'OUTCOME_UNKNOWN' : 'DATABASE_UNAVAILABLE')
  }
}
