import type { Settings } from '../../src/core/settings.ts'
import { EmailQueue } from '../../src/email/queue.ts'
import { type Gate, openGate } from '../../src/features/gate.ts'
import { pinEntry } from '../../src/gateway/upstreams/pins.ts'
import { Upstreams } from '../../src/gateway/upstreams/upstreams.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { aborted } from '../../src/util/abort.ts'
import type { Random } from '../../src/util/random.ts'
import { seededRandom } from '../../src/util/random.ts'
import { resultsOnDisk } from '../channels/store-on-disk.ts'
import { MAIL } from '../email/settings.ts'
import { FakeSessions } from '../support/fake-sessions.ts'
import { ManualClock } from '../support/gates.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { override } from '../support/steps.ts'
import { commonMail, onlyUpstreams } from '../support/tenants.ts'
import { SEEN } from './upstream-steps.ts'

export type StoreName = 'sqlite' | 'postgres'

/** PostgreSQL only if it is available. */
export function storeNames(): StoreName[] {
  return postgresUrl() === undefined ? ['sqlite'] : ['sqlite', 'postgres']
}

/** A deterministic gate on an empty database: equal calls have equal outcomes. */
export interface World {
  readonly gate: Gate
  /** All gates on the database; the first is `gate`. */
  readonly gates: readonly Gate[]
  readonly store: Store
  readonly clock: ManualClock
  /** Errors that callers only see as a code. */
  readonly errors: unknown[]
  close(): Promise<void>
}

export async function openWorld(
  storeName: StoreName,
  seed: number,
  settings: Partial<Settings>,
  servers = 1,
): Promise<World> {
  const clock = new ManualClock()
  const errors: unknown[] = []
  const random = randomPerLength(seed)
  const database = await openDatabase(storeName)
  const { results, folder } = resultsOnDisk()
  const onError = (error: unknown) => errors.push(error)
  const opened: { readonly gate: Gate; readonly store: Store; readonly upstreams: Upstreams }[] = []
  for (let n = 0; n < servers; n++) {
    const store = wakingInOrder(await database.open({ now: () => clock.now, random }))
    const mail = new EmailQueue({
      entries: store.entries,
      settings: { ...MAIL, mail_max_bytes: settings.max_payload_bytes ?? MAIL.mail_max_bytes },
      now: () => clock.now,
      random,
    })
    const upstreams = await openUpstreams(store, onError)
    const memory = { store: async () => 'm1' }
    const gate = openGate({
      store,
      settings,
      results,
      memory,
      mail: commonMail(mail),
      upstreams: onlyUpstreams(upstreams),
      random,
      sweeping: false,
      onError,
    })
    FakeSessions.at(gate, upstreams.tenant)
    opened.push({ gate, store, upstreams })
  }
  const [first] = opened
  if (first === undefined) throw new Error('a world needs a server')
  const close = async () => {
    for (const { upstreams, gate } of opened) {
      await upstreams.close()
      await gate.close()
    }
    await database.drop()
    folder.remove()
  }
  const gates = opened.map(({ gate }) => gate)
  return { gate: first.gate, gates, store: first.store, clock, errors, close }
}

/** Upstreams with one tool that waits to be accepted. */
async function openUpstreams(store: Store, onError: (error: unknown) => void): Promise<Upstreams> {
  const { tenant } = await store.tenant('default')
  await store.entries.put(pinEntry(tenant, SEEN))
  const storage = { entries: store.entries, tenant, shared: store.shared }
  const upstreams = new Upstreams({
    storage,
    logger: { info: () => {}, warn: onError },
    // The connection never succeeds.
    async connect(_record, _options, signal) {
      await aborted(signal)
      throw signal.reason
    },
  })
  await upstreams.start()
  return upstreams
}

/** A separate database, since cursors and receipts depend on the number of the tenant. */
async function openDatabase(storeName: StoreName) {
  type Options = { now: () => number; random: Random }
  if (storeName === 'sqlite') {
    return {
      open: (options: Options) => openSqliteStore({ path: ':memory:', ...options }),
      drop: async () => {},
    }
  }
  const { url, drop } = await freshDatabase('equal')
  return { open: (options: Options) => openPostgresStore({ url, ...options }), drop }
}

/**
 * A random sequence for each length of id: the stores create their secrets at different moments, but with different
 * lengths.
 */
function randomPerLength(seed: number): Random {
  const sequences = new Map<number, Random>()
  return {
    unit: seededRandom(seed).unit,
    hex(count) {
      const sequence = sequences.get(count) ?? seededRandom(seed + count)
      sequences.set(count, sequence)
      return sequence.hex(count)
    },
  }
}

/** Databases return tasks that are due at the same instant in any order, and the order decides which jitter each gets. */
function wakingInOrder(store: Store): Store {
  const inOrder = (a: { readonly task_id: string }, b: { readonly task_id: string }) =>
    a.task_id < b.task_id ? -1 : 1
  return override(store, {
    due: async (limit) => (await store.due(limit)).sort(inOrder),
    commit: (need, decide) =>
      store.commit(need, (loaded) => {
        loaded.due.sort(inOrder)
        return decide(loaded)
      }),
  })
}
