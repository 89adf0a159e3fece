import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Draw, tenantSalt } from '../../core/ids.ts'
import type { Question } from '../../core/question.ts'
import { cryptoDraw } from '../../core/random.ts'
import type { TaskSpec } from '../../core/task.ts'
import type { Entries } from '../entries.ts'
import type { Reads } from '../reads.ts'
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
import { type Clock, startClock } from './clock.ts'
import { type Database, openReader, openWriter, rollBack, type Statement } from './database.ts'
import { prepareEntries } from './entries.ts'
import { attempt, attemptAvailable } from './failure.ts'
import { prepareInboxReads } from './inbox.ts'
import { DUE_REFS, NEXT_WAKE, prepareLoad } from './load.ts'
import { lockFile } from './lock.ts'
import { prepareSpecLookup } from './lookup.ts'
import { migrate } from './migrate.ts'
import { prepareQuestionLookup, prepareQuestionReads } from './questions.ts'
import { prepareReads } from './reads.ts'
import { prepareWrite } from './write.ts'

export interface SqliteOptions {
  /** A file, made if it is new together with its folder; or `:memory:`. */
  readonly path: string
  /** Instead of the store's own clock, and used as it is. */
  readonly now?: () => number
  readonly draw?: Draw
}

/** More commands would block the process for too long at a time. */
const BATCH_SIZE = 128
/** A decision that still asks for more after so many looks never ends. */
const MAX_LOOKS = 10

export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const { path } = options
  const opened: Closable[] = []
  const keep = <T extends Closable>(resource: T): T => {
    opened.unshift(resource)
    return resource
  }
  try {
    const isFile = path !== ':memory:'
    if (isFile) {
      mkdirSync(dirname(path), { recursive: true })
      keep(await lockFile(path))
    }
    const writer = keep(await openWriter(path))
    migrate(writer, (options.now ?? Date.now)())
    const reader = isFile ? keep(await openReader(path)) : writer
    return new SqliteStore(writer, reader, opened, options)
  } catch (error) {
    for (const resource of opened) resource.close()
    const reason = error instanceof Error ? error.message : String(error)
    throw new StoreError(
      'unavailable',
      new Error(`The database ${path} cannot be opened: ${reason}`, { cause: error }),
    )
  }
}

interface Closable {
  close(): unknown
}

class SqliteStore implements Store {
  readonly batchSize = BATCH_SIZE
  readonly shared = false
  readonly reads: Reads
  readonly entries: Entries
  readonly #writer: Database
  readonly #opened: Closable[]
  readonly #now: Clock
  readonly #draw: Draw
  readonly #secret: Buffer
  readonly #load: (need: Need, loaded: Loaded) => void
  readonly #write: (changes: Changes, loaded: Loaded) => void
  readonly #findSpec: (tenant: number, seq: number) => TaskSpec | undefined
  readonly #findQuestions: (tenant: number, taskId: string) => Question[]
  readonly #findTenant: Statement
  readonly #insertTenant: Statement
  readonly #busyTenants: Statement
  readonly #due: Statement
  readonly #nextWake: Statement
  readonly #ping: Statement

  constructor(writer: Database, reader: Database, opened: Closable[], options: SqliteOptions) {
    this.#writer = writer
    this.#opened = opened
    this.#draw = options.draw ?? cryptoDraw()
    this.#now = options.now ?? startClock(lastTime(reader))
    this.#secret = findSecret(writer, this.#draw)
    this.reads = { ...prepareReads(reader), ...prepareInboxReads(reader), ...prepareQuestionReads(reader) }
    this.entries = prepareEntries(reader, writer)
    this.#load = prepareLoad(writer)
    this.#write = prepareWrite(writer)
    this.#findSpec = prepareSpecLookup(writer)
    this.#findQuestions = prepareQuestionLookup(writer)
    this.#findTenant = reader.prepare('SELECT tenant, name, salt FROM tenants WHERE name = ?')
    this.#insertTenant = writer.prepare(
      'INSERT INTO tenants (name, salt) VALUES (?, ?) ON CONFLICT (name) DO NOTHING',
    )
    this.#busyTenants = reader.prepare('SELECT tenant FROM tenants WHERE open_tasks > 0')
    this.#due = reader.prepare(DUE_REFS)
    this.#nextWake = reader.prepare(NEXT_WAKE)
    this.#ping = reader.prepare('SELECT tenant FROM tenants LIMIT 1')
  }

  async tenant(name: string): Promise<TenantRef> {
    const find = () => this.#findTenant.get(name) as TenantRef | undefined
    return attempt(() => {
      let found = find()
      if (found === undefined) {
        this.#insertTenant.run(name, tenantSalt(this.#draw))
        found = find()
      }
      if (found === undefined) throw new Error(`the tenant ${name} was not stored`)
      return found
    })
  }

  /** Nothing here waits between BEGIN and COMMIT, so no two commits overlap. */
  async commit(need: Need, decide: (loaded: Loaded) => Changes | Need): Promise<Committed> {
    try {
      attemptAvailable(() => this.#writer.exec('BEGIN IMMEDIATE'))
      const loaded = emptyLoaded(this.#now())
      const changes = this.#decide(need, loaded, decide)
      const committed = attempt(() => {
        this.#write(changes, loaded)
        return {
          specs: changes.granted.flatMap(({ tenant, seq }) => this.#findSpec(tenant, seq) ?? []),
          questions: changes.answered.flatMap((ref) => this.#findQuestions(ref.tenant, ref.task_id)),
        }
      })
      attemptAvailable(() => this.#writer.exec('COMMIT'))
      return committed
    } catch (error) {
      rollBack(this.#writer)
      throw error
    }
  }

  async due(limit: number): Promise<TaskRef[]> {
    return attemptAvailable(() => {
      const now = this.#now()
      const tenants = this.#busyTenants.all() as { readonly tenant: number }[]
      return tenants.flatMap(({ tenant }) => this.#due.all(tenant, now, limit) as TaskRef[])
    })
  }

  async nextWake(tenant: number): Promise<number | null> {
    return attemptAvailable(() => {
      const { wake_at } = this.#nextWake.get(tenant) as { readonly wake_at: number | null }
      return wake_at === null ? null : wake_at - this.#now()
    })
  }

  /** There are no other processes. */
  listen(): void {}

  async secret(): Promise<Buffer> {
    return this.#secret
  }

  async now(): Promise<number> {
    return this.#now()
  }

  async ping(): Promise<void> {
    attemptAvailable(() => this.#ping.get())
  }

  async close(): Promise<void> {
    for (const resource of this.#opened.splice(0)) resource.close()
  }

  #decide(need: Need, loaded: Loaded, decide: (loaded: Loaded) => Changes | Need): Changes {
    let wanted = need
    for (let look = 0; look < MAX_LOOKS; look++) {
      attempt(() => this.#load(wanted, loaded))
      const decided = decide(loaded)
      if (!isNeed(decided)) return decided
      wanted = decided
    }
    throw new Error(`a batch asked for more ${MAX_LOOKS} times`)
  }
}

function lastTime(database: Database): number {
  const row = database.prepare('SELECT coalesce(max(committed_at), 0) AS at FROM tenants').get()
  return (row as { readonly at: number }).at
}

function findSecret(database: Database, draw: Draw): Buffer {
  const insert = database.prepare('INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  insert.run('cursors', Buffer.from(draw.hex(32), 'hex'))
  const row = database.prepare('SELECT value FROM secrets WHERE name = ?').get('cursors')
  return Buffer.from((row as { readonly value: Uint8Array }).value)
}
