import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../src/core/settings.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/util/random.ts'
import { ManualClock } from '../support/gates.ts'

/** Where a run stores its tasks. */
export interface Place {
  readonly tenant: string
  open(now: () => number): Promise<Store>
  /** The store after a restart. */
  reopen(store: Store, now: () => number): Promise<Store>
  drop(): void
}

/** A restart loses the gate and its memory, but not the store. */
export function inMemory(): Place {
  return {
    tenant: 'default',
    open: (now) => openSqliteStore({ path: ':memory:', now }),
    reopen: async (store) => store,
    drop: () => {},
  }
}

export function inFile(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'asyncgate-model-'))
  return {
    ...onDisk((now) => openSqliteStore({ path: join(folder, 'gate.db'), now })),
    tenant: 'default',
    drop: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A separate tenant in a database that the runs share. */
export function inPostgres(url: string, tenant: string): Place {
  return { ...onDisk((now) => openPostgresStore({ url, now })), tenant, drop: () => {} }
}

function onDisk(open: Place['open']): Pick<Place, 'open' | 'reopen'> {
  return {
    open,
    async reopen(store, now) {
      await store.close()
      return open(now)
    },
  }
}

/** A gate on a manual clock that can be restarted. */
export interface System {
  readonly gate: Gate
  readonly store: Store
  readonly clock: ManualClock
  readonly tenant: string
  /** Errors that callers saw only as a code. */
  readonly errors: readonly unknown[]
  restart(): Promise<void>
  close(): Promise<void>
}

/** With `isStrict` every task requires approval before it can be claimed. */
export async function openSystem(
  place: Place,
  settings: Partial<Settings>,
  seed: number,
  isStrict = false,
): Promise<System> {
  const clock = new ManualClock()
  const now = () => clock.now
  const errors: unknown[] = []
  let starts = 0
  let gone = 0
  const start = (store: Store) => {
    const number = ++starts
    return openGate({
      store,
      settings,
      ...(isStrict && { policy: { defaults: { plain: 'REQUIRE_APPROVAL' } } }),
      sweeping: false,
      random: seededRandom(seed + number - 1),
      // Errors of gates before the last restart are ignored.
      onError: (error) => number > gone && errors.push(error),
    })
  }
  let store = await place.open(now)
  let gate = start(store)
  return {
    get gate() {
      return gate
    },
    get store() {
      return store
    },
    clock,
    tenant: place.tenant,
    errors,
    async restart() {
      gone = starts
      store = await place.reopen(store, now)
      gate = start(store)
    },
    async close() {
      await gate.close()
      place.drop()
    },
  }
}
