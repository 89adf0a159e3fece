import { tenantSalt } from '../../core/ids.ts'
import { messageOf } from '../../util/error-message.ts'
import { cryptoRandom, type Random } from '../../util/random.ts'
import type { AuditRows } from '../audit.ts'
import type { Entries, Logs } from '../entries.ts'
import type { Erasure } from '../erasure.ts'
import type { FlowReads } from '../flow.ts'
import type { HistoryRows } from '../history.ts'
import { Known } from '../layout/known.ts'
import { type Rows, rowsOf } from '../layout/rows.ts'
import type { LedgerLog } from '../ledger-log.ts'
import type { OutboxRows } from '../outbox.ts'
import type { Reads } from '../reads.ts'
import type { Retention } from '../retention.ts'
import {
  type Changes,
  type Committed,
  emptyLoaded,
  isNeed,
  type Loaded,
  type Need,
  type Store,
  StoreError,
  type TaskRef,
  type TenantRef,
} from '../store.ts'
import type { UsageRows } from '../usage.ts'
import { type Clock, startClock } from './clock.ts'
import { type Change, type Database, type Driver, rollBack, sqliteDriver } from './database.ts'
import { attempt, attemptAvailable, attemptChange, attemptCommit } from './failure.ts'
import { DatabaseInUse, type Lock, lockFile } from './lock.ts'
import { checkSchema } from './migrate.ts'
import { makeFolder } from './private-file.ts'
import { openSession, type Session } from './session.ts'
import { liveTask } from './tasks.ts'

export interface SqliteOptions {
  /** A file, made if it is new together with its folder; or `:memory:`. */
  readonly path: string
  /** Replaces the clock of the store, without corrections. */
  readonly now?: () => number
  readonly random?: Random
  /** Opens the file also while a server has it, to read and write a few entries. The schema must then be current. */
  readonly besideServer?: boolean | undefined
  /** Instead of the SQLite that Node has, or better-sqlite3. */
  readonly driver?: Driver
}

const BATCH_SIZE = { min: 128, max: 512 }
/** A longer segment takes longer to read one receipt of; shorter ones are more rows per commit. */
const MAX_SEGMENT = 16 * 1024
/** Maximum number of load rounds: a decision that needs more would never end. */
const MAX_LOAD_ROUNDS = 10

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { path } = options
  let lock: Lock | undefined
  try {
    if (path !== ':memory:') {
      makeFolder(path)
      lock = await lockFile(path).catch((error: unknown) => {
        if (options.besideServer && error instanceof DatabaseInUse) return undefined
        throw error
      })
    }
    return new SqliteStore(options, options.driver ?? (await sqliteDriver()), lock)
  } catch (error) {
    lock?.close()
    const reason = messageOf(error)
    throw new StoreError(
      'unavailable',
      new Error(`The database ${path} cannot be opened: ${reason}`, { cause: error }),
    )
  }
}

class SqliteStore implements Store {
  readonly batchSize = BATCH_SIZE
  readonly shared = false
  readonly reads: Reads
  readonly entries: Entries
  readonly logs: Logs
  readonly audit: AuditRows
  readonly erasure: Erasure
  readonly retention: Retention
  readonly flow: FlowReads
  readonly usage: UsageRows
  readonly history: HistoryRows
  readonly outbox: OutboxRows
  readonly ledgerLog: LedgerLog
  readonly #path: string
  readonly #driver: Driver
  readonly #lock: Lock | undefined
  readonly #now: Clock
  readonly #random: Random
  readonly #secret: Buffer
  /** Undefined after a write that may or may not have reached the disk, until the database is opened again. */
  #session: Session | undefined
  #isClosed = false

  constructor(options: SqliteOptions, driver: Driver, lock: Lock | undefined) {
    this.#path = options.path
    this.#driver = driver
    this.#lock = lock
    this.#random = options.random ?? cryptoRandom()
    const isOwner = lock !== undefined || this.#path === ':memory:'
    if (!isOwner) checkSchema(this.#path, driver)
    const session = openSession(this.#path, driver, (options.now ?? Date.now)(), this.#change)
    this.#session = session
    try {
      this.#now = options.now ?? startClock(lastTime(session.reader))
      this.#secret = findSecret(session.writer, this.#random)
    } catch (error) {
      session.close()
      throw error
    }
    this.reads = following(session.reads, () => this.#open().reads)
    this.logs = following(session.logs, () => this.#open().logs)
    this.audit = following(session.audit, () => this.#open().audit)
    this.erasure = following(session.erasure, () => this.#open().erasure)
    this.retention = following(session.retention, () => this.#open().retention)
    this.flow = following(session.flow, () => this.#open().flow)
    this.usage = following(session.usage, () => this.#open().usage)
    this.history = following(session.history, () => this.#open().history)
    this.outbox = following(session.outbox, () => this.#open().outbox)
    this.ledgerLog = following(session.ledgerLog, () => this.#open().ledgerLog)
    this.entries = following(session.entries, () => this.#open().entries)
  }

  async tenant(name: string, salt?: string): Promise<TenantRef> {
    const { findTenant, insertTenant } = this.#open()
    const find = () => findTenant.get(name) as TenantRef | undefined
    return this.#change(() => {
      let found = find()
      if (found === undefined) {
        insertTenant.run(name, salt ?? tenantSalt(this.#random))
        found = find()
      }
      if (found === undefined) throw new Error(`the tenant ${name} was not stored`)
      return found
    })
  }

  async tenants(): Promise<TenantRef[]> {
    const { allTenants } = this.#open()
    return attemptAvailable(() => allTenants.all() as TenantRef[])
  }

  /** Nothing here waits between BEGIN and COMMIT, so no two commits overlap. */
  async commit(need: Need, decide: (loaded: Loaded) => Changes | Need): Promise<Committed> {
    const session = this.#open()
    try {
      attemptAvailable(() => session.writer.exec('BEGIN IMMEDIATE'))
      const loaded = emptyLoaded(this.#now())
      const known = new Known()
      const changes = decideOn(session, need, loaded, known, decide)
      const rows = layOut(changes, known, this.#random)
      const committed = attempt(() => {
        session.write(changes, rows, loaded)
        return {
          specs: changes.granted.flatMap(({ tenant, seq }) => session.findSpec(tenant, seq) ?? []),
          questions: changes.answered.flatMap((ref) => session.findQuestions(ref.tenant, ref.task_id)),
        }
      })
      attemptCommit(() => session.writer.exec('COMMIT'))
      return committed
    } catch (error) {
      rollBack(session.writer)
      this.#doubt(error)
      throw error
    }
  }

  async due(limit: number): Promise<TaskRef[]> {
    const { busyTenants, due, unsettled } = this.#open()
    return attemptAvailable(() => {
      const now = this.#now()
      const tenants = busyTenants.all() as { readonly tenant: number }[]
      const rows = tenants.flatMap(({ tenant }) => due.flatMap((each) => each.all(tenant, now, limit)))
      const found = rows.map((row): TaskRef => {
        const { tenant, task_id } = liveTask(row).task
        return { tenant, task_id }
      })
      return [...found, ...tenants.flatMap(({ tenant }) => unsettled(tenant, limit))]
    })
  }

  async nextWake(tenant: number): Promise<number | null> {
    const { nextWake } = this.#open()
    return attemptAvailable(() => {
      const { wake_at } = nextWake.get(tenant, tenant) as { readonly wake_at: number | null }
      return wake_at === null ? null : wake_at - this.#now()
    })
  }

  /** There are no other processes. */
  listen(): void {}

  async follow(): Promise<void> {}

  async secret(): Promise<Buffer> {
    return this.#secret
  }

  async now(): Promise<number> {
    return this.#now()
  }

  async ping(): Promise<void> {
    const { ping } = this.#open()
    attemptAvailable(() => ping.get())
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#session?.close()
    this.#lock?.close()
  }

  /** Opens the database in its current state on disk. */
  #open(): Session {
    if (this.#isClosed) throw new StoreError('unavailable', 'the store is closed')
    this.#session ??= attemptAvailable(() => openSession(this.#path, this.#driver, this.#now(), this.#change))
    return this.#session
  }

  readonly #change: Change = (write) => {
    try {
      return attemptChange(write)
    } catch (error) {
      this.#doubt(error)
      throw error
    }
  }

  /**
   * After a write that may or may not have reached the disk, what this connection believes may differ from what another
   * would find. So it is closed, and what the next one finds is what holds.
   */
  #doubt(error: unknown): void {
    if (!(error instanceof StoreError) || error.reason !== 'unknown' || this.#path === ':memory:') return
    const session = this.#session
    this.#session = undefined
    try {
      session?.close()
    } catch {
      return
    }
  }
}

/** The methods of whatever is current when they are called. */
function following<T extends object>(first: T, current: () => T): T {
  return new Proxy(first, {
    get(_, name) {
      try {
        return Reflect.get(current(), name)
      } catch (error) {
        return () => Promise.reject(error)
      }
    },
  })
}

function decideOn(
  { load }: Session,
  need: Need,
  loaded: Loaded,
  known: Known,
  decide: (loaded: Loaded) => Changes | Need,
): Changes {
  let wanted = need
  for (loaded.looks = 1; loaded.looks <= MAX_LOAD_ROUNDS; loaded.looks++) {
    attempt(() => load(wanted, loaded, known))
    const decided = decide(loaded)
    if (!isNeed(decided)) return decided
    wanted = decided
  }
  throw new Error(`a batch asked for more ${MAX_LOAD_ROUNDS} times`)
}

/** What cannot be laid out is refused, so that the batch is split. */
function layOut(changes: Changes, known: Known, random: Random): Rows {
  try {
    return rowsOf(changes, known, MAX_SEGMENT, random)
  } catch (error) {
    throw new StoreError('refused', error)
  }
}

function lastTime(database: Database): number {
  const row = database.prepare('SELECT coalesce(max(committed_at), 0) AS at FROM tenants').get()
  return (row as { readonly at: number }).at
}

function findSecret(database: Database, random: Random): Buffer {
  const insert = database.prepare('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  insert.run('cursors', Buffer.from(random.hex(32), 'hex'))
  const row = database.prepare('SELECT value FROM secrets WHERE name = ?').get('cursors')
  return Buffer.from((row as { readonly value: Uint8Array }).value)
}
