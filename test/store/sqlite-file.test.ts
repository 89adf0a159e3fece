import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase, openReader, openWriter } from '../../src/store/sqlite/database.ts'
import { attempt } from '../../src/store/sqlite/failure.ts'
import { knownMigrations, migrate } from '../../src/store/sqlite/migrate.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { StoreError } from '../../src/store/store.ts'
import { counters, item, look, NOW, put, queued } from '../support/fixtures.ts'

let folder: string
let path: string
const opened: { close(): unknown }[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'asyncgate-sqlite-'))
  path = join(folder, 'test.db')
})
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
  rmSync(folder, { recursive: true, force: true })
})

function keep<T extends { close(): unknown }>(one: T): T {
  opened.push(one)
  return one
}

function pragma(database: Database, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() as object)[0]
}

function failureOf(work: () => unknown): unknown {
  try {
    attempt(work)
  } catch (error) {
    return error
  }
  return undefined
}

describe('durability', () => {
  it('the writer waits for the disk', async () => {
    const writer = keep(await openWriter(path))
    expect(pragma(writer, 'journal_mode')).toBe('wal')
    expect(pragma(writer, 'synchronous')).toBe(2)
  })

  it('a reader cannot write', async () => {
    keep(await openWriter(path)).exec('CREATE TABLE t (x)')
    const reader = keep(await openReader(path))
    expect(() => reader.exec('INSERT INTO t VALUES (1)')).toThrow(/readonly/)
  })

  it('the folder of a new file is created', async () => {
    const deep = join(folder, 'a', 'b', 'test.db')
    keep(await openSqliteStore({ path: deep }))
    expect(existsSync(deep)).toBe(true)
  })
})

describe('clock', () => {
  it('the clock starts no earlier than the last commit', async () => {
    const future = Date.now() + 1_000_000_000
    const first = await openSqliteStore({ path, now: () => future })
    const ref = await first.tenant('a')
    await first.tenant('z')
    await put(first, ref.tenant, { tenants: [counters(ref, { seq: 1 })] })
    await first.close()
    const again = keep(await openSqliteStore({ path }))
    const { now } = await look(again, ref.tenant)
    expect(now).toBeGreaterThanOrEqual(future)
    expect(now).toBeLessThan(future + 1_000_000)
  })

  it('a commit that changes no counter advances the stored time', async () => {
    const future = Date.now() + 1_000_000_000
    const first = await openSqliteStore({ path, now: () => future })
    const { tenant } = await first.tenant('a')
    await put(first, tenant, { filed: [item(tenant, 1)] })
    await first.close()
    const again = keep(await openSqliteStore({ path }))
    expect((await look(again, tenant)).now).toBeGreaterThanOrEqual(future)
  })
})

describe('migrations', () => {
  it('migrations are recorded and applied once', async () => {
    const database = keep(await openDatabase(':memory:'))
    migrate(database, NOW)
    migrate(database, NOW + 1)
    const rows = database.prepare('SELECT number, name, applied_at FROM migrations').all()
    expect(rows).toEqual(knownMigrations().map((migration) => ({ ...migration, applied_at: NOW })))
  })

  it('a schema of a newer version is refused', async () => {
    const store = await openSqliteStore({ path })
    await store.close()
    const database = await openDatabase(path)
    database.exec("INSERT INTO migrations VALUES (9999, '9999_future.sql', 0)")
    database.close()
    const newest = knownMigrations().at(-1)?.number
    await expect(openSqliteStore({ path })).rejects.toThrow(
      `test.db cannot be opened: its schema is number 9999, and this version of AsyncGate knows only up to ${newest}`,
    )
  })

  it('a schema from before the first release is refused and not changed', async () => {
    const old = await openDatabase(path)
    old.exec(
      `CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)`,
    )
    old.exec("INSERT INTO migrations VALUES (15, '0015_input_length.sql', 0)")
    old.close()
    await expect(openSqliteStore({ path })).rejects.toThrow(
      /test\.db cannot be opened: its schema is number 15, from a version before the first release.*choose another file/,
    )
    const database = keep(await openDatabase(path))
    expect(database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()).toEqual([
      { name: 'migrations' },
    ])
  })

  it('a failed migration leaves nothing behind', async () => {
    const database = keep(await openDatabase(':memory:'))
    database.exec('CREATE TABLE secrets (x)')
    expect(() => migrate(database, NOW)).toThrow(/secrets/)
    database.exec('DROP TABLE secrets')
    migrate(database, NOW)
    expect(database.prepare('SELECT count(*) AS n FROM migrations').get()).toEqual({
      n: knownMigrations().length,
    })
  })
})

describe('errors', () => {
  it('a full disk makes the store unavailable', async () => {
    const database = keep(await openDatabase(path))
    database.exec('CREATE TABLE t (x TEXT) STRICT; PRAGMA max_page_count = 3')
    const insert = database.prepare('INSERT INTO t VALUES (?)')
    const failure = failureOf(() => insert.run('x'.repeat(100_000)))
    expect(failure).toBeInstanceOf(StoreError)
    expect(failure).toMatchObject({ reason: 'unavailable' })
  })

  it('a value of the wrong type or size is refused', async () => {
    const database = keep(await openDatabase(path))
    database.exec('CREATE TABLE t (x INTEGER) STRICT')
    const insert = database.prepare('INSERT INTO t VALUES (?)')
    const large = database.prepare('SELECT zeroblob(2000000000)')
    expect(failureOf(() => insert.run('text'))).toMatchObject({ reason: 'refused' })
    expect(failureOf(() => insert.run(1.5))).toMatchObject({ reason: 'refused' })
    expect(failureOf(() => large.get())).toMatchObject({ reason: 'refused' })
  })

  it('a file that another program has locked makes a commit unavailable until it is released', async () => {
    const store = keep(await openSqliteStore({ path }))
    const { tenant } = await store.tenant('a')
    const tool = keep(await openDatabase(path))
    tool.exec('BEGIN IMMEDIATE')
    const inserted = [queued({ tenant, seq: 1 })]
    await expect(put(store, tenant, { inserted })).rejects.toMatchObject({ reason: 'unavailable' })
    tool.exec('ROLLBACK')
    await expect(put(store, tenant, { inserted })).resolves.toEqual({ specs: [], questions: [] })
  })

  it('an update of a missing task fails the batch', async () => {
    const store = keep(await openSqliteStore({ path }))
    const { tenant } = await store.tenant('a')
    const lost = put(store, tenant, { updated: [queued({ tenant, seq: 1 })] })
    await expect(lost).rejects.toMatchObject({ reason: 'refused' })
  })

  it('a closed store is unavailable', async () => {
    const store = await openSqliteStore({ path })
    const { tenant } = await store.tenant('a')
    await store.close()
    await expect(put(store, tenant, {})).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.reads.counters(tenant)).rejects.toMatchObject({ reason: 'unavailable' })
    await expect(store.ping()).rejects.toMatchObject({ reason: 'unavailable' })
  })
})
