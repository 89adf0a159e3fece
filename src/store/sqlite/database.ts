import { makeFolder, makePrivate } from './private-file.ts'

/** What can be bound. Truth values are 0 and 1. */
export type Value = null | number | string | Uint8Array

/** Rows are `unknown` until the one place that runs the query says what they are. Parameters are plain `?`. */
export interface Statement {
  run(...values: readonly Value[]): { readonly changes: number | bigint }
  get(...values: readonly Value[]): unknown
  all(...values: readonly Value[]): unknown[]
  /** Rows one at a time. No other statement may run on the connection until the last has been read or the loop is left. */
  iterate(...values: readonly Value[]): Iterable<unknown>
}

/** The part that `node:sqlite` and better-sqlite3 have in common and that we use. */
export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  /** Its rows are arrays of values: a wide row costs less than half of what it does as an object. */
  prepareArrays(sql: string): Statement
  close(): unknown
}

export type Driver = (path: string) => Database

const WRITER_CACHE_KB = 64 * 1024
const READER_CACHE_KB = 16 * 1024
const MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024
/** A commit blocks the process, so it gives up soon; only a foreign tool on the file can make it wait. */
const BUSY_MS = 2_000

let driver: Promise<Driver> | undefined

/** What opens databases with the SQLite that Node has, or else with better-sqlite3. */
export function sqliteDriver(): Promise<Driver> {
  driver ??= loadDriver()
  return driver
}

export async function openDatabase(path: string): Promise<Database> {
  return connect(path, await sqliteDriver())
}

export async function openWriter(path: string): Promise<Database> {
  return connectWriter(path, await sqliteDriver())
}

export async function openReader(path: string): Promise<Database> {
  return connectReader(path, await sqliteDriver())
}

function connect(path: string, driver: Driver): Database {
  if (path !== ':memory:') makePrivate(path)
  return driver(path)
}

/** The connection that commits: a commit has reached the disk when it returns. */
export function connectWriter(path: string, driver: Driver): Database {
  if (path !== ':memory:') makeFolder(path)
  const database = connect(path, driver)
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    const { journal_mode } = database.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string }
    if (path !== ':memory:' && journal_mode !== 'wal') {
      throw new Error('its file system does not allow a write-ahead log; move the file to a local disk')
    }
    database.exec('PRAGMA synchronous = FULL')
    database.exec(`PRAGMA cache_size = -${WRITER_CACHE_KB}`)
    database.exec('PRAGMA wal_autocheckpoint = 8000')
    database.exec(`PRAGMA journal_size_limit = ${MAX_IDLE_LOG_BYTES}`)
    database.exec('PRAGMA temp_store = MEMORY')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

export function connectReader(path: string, driver: Driver): Database {
  const database = connect(path, driver)
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    database.exec(`PRAGMA cache_size = -${READER_CACHE_KB}`)
    database.exec('PRAGMA temp_store = MEMORY')
    database.exec('PRAGMA query_only = ON')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** SQLite has already rolled back after some errors; then there is nothing left to do. */
export function rollBack(database: Database): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    return
  }
}

/** Nothing waits between BEGIN and COMMIT, so it never meets another transaction of the writer. */
export function inTransaction<T>(writer: Database, write: () => T): T {
  writer.exec('BEGIN IMMEDIATE')
  try {
    const written = write()
    writer.exec('COMMIT')
    return written
  } catch (error) {
    rollBack(writer)
    throw error
  }
}

async function loadDriver(): Promise<Driver> {
  const builtin = process.getBuiltinModule('node:sqlite')
  if (builtin !== undefined && hasDatabaseSync(builtin)) {
    return (path) => adaptBuiltin(new builtin.DatabaseSync(path))
  }
  try {
    const { default: BetterSqlite3 } = await import('better-sqlite3')
    // Loads the compiled part, which is what can be missing.
    new BetterSqlite3(':memory:').close()
    return (path) => {
      const database = new BetterSqlite3(path)
      return {
        exec: (sql) => database.exec(sql),
        prepare: (sql) => database.prepare<Value[]>(sql),
        prepareArrays: (sql) => database.prepare<Value[]>(sql).raw(),
        close: () => database.close(),
      }
    }
  } catch (error) {
    throw new Error(
      `SQLite is not available: Node ${process.version} has no node:sqlite, and better-sqlite3 does not load. ` +
        'Use Node 22.13 or later, or run "npm install better-sqlite3".',
      { cause: error },
    )
  }
}

interface BuiltinStatement extends Statement {
  /** Since Node 22.16. */
  setReturnArrays?(enabled: boolean): void
}

interface BuiltinDatabase {
  exec(sql: string): void
  prepare(sql: string): BuiltinStatement
  close(): void
}

function hasDatabaseSync(module: object): module is { DatabaseSync: new (path: string) => BuiltinDatabase } {
  return 'DatabaseSync' in module && typeof module.DatabaseSync === 'function'
}

function adaptBuiltin(database: BuiltinDatabase): Database {
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    prepareArrays(sql) {
      const statement = database.prepare(sql)
      if (statement.setReturnArrays === undefined) return spreadRows(statement)
      statement.setReturnArrays(true)
      return statement
    },
    close: () => database.close(),
  }
}

function spreadRows(statement: Statement): Statement {
  return {
    run: (...values) => statement.run(...values),
    get(...values) {
      const row = statement.get(...values)
      return row && Object.values(row)
    },
    all: (...values) => statement.all(...values).map((row) => Object.values(row as object)),
    *iterate(...values) {
      for (const row of statement.iterate(...values)) yield Object.values(row as object)
    },
  }
}

/** Runs a write in a separate transaction. */
export type Change = <T>(write: () => T) => T
