import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrate as migratePostgres } from '../../src/store/postgres/migrate.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { migrate as migrateSqlite } from '../../src/store/sqlite/migrate.ts'
import { uuid } from '../support/fixtures.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'

const BEFORE = ['0001_engine.sql', '0002_entries.sql', '0003_inbox.sql', '0004_questions.sql']
const sqlOf = (store: string, name: string) =>
  readFileSync(new URL(`../../src/store/${store}/migrations/${name}`, import.meta.url), 'utf8')

const lane = (number: number, type: string, mark: string) =>
  `INSERT INTO lanes (tenant, lane, type, capabilities, priority, mark) VALUES (1, ${number}, ${type}, '[]', 0, ${mark})`

const task = (seq: number, number: number, owner: string, wake = 'NULL') =>
  `INSERT INTO tasks (tenant, task_id, seq, lane, pool, rank, owner, principal_ai, attempt, max_attempts, expiry_count,
     max_expiries, retry_backoff_seconds, fence, progress_count, question_count, updated_at, status, wake_at)
   VALUES (1, '${uuid(seq)}', ${seq}, ${number}, 1, ${seq}, '${owner}', 'a', 0, 1, 0, 1, 1, 0, 0, 0, 1, 'queued', ${wake})`

const INSERTS = [
  "INSERT INTO tenants (name, salt, lanes) VALUES ('default', 'salt', 4), ('new', 'salt', 0)",
  lane(1, 'NULL', '1'),
  lane(2, "'busy'", '1'),
  lane(3, "'delayed'", 'NULL'),
  lane(4, "'empty'", '77'),
  task(1, 2, 'agent:bob'),
  task(2, 2, 'agent:alice'),
  task(3, 2, 'agent:alice'),
  task(4, 3, 'agent:bob', '5000'),
]

const LANES = 'SELECT lane, type, mark, tasks, owner, owned, version FROM lanes ORDER BY lane'
const WANTED = [
  [1, null, 1, 4, null, 0, 1],
  [2, 'busy', 1, 3, 'agent:alice', 2, 1],
  [3, 'delayed', null, 1, 'agent:bob', 1, 1],
  [4, 'empty', null, 0, null, 0, 1],
]
const TENANTS = 'SELECT name, lanes_version FROM tenants ORDER BY name'
const VERSIONS = [
  ['default', 1],
  ['new', 0],
]

describe('lanes migration', () => {
  it('the SQLite migration counts the open tasks of existing lanes', async () => {
    const database = await openDatabase(':memory:')
    onTestFinished(() => void database.close())
    database.exec(
      'CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
    )
    for (const [i, name] of BEFORE.entries()) {
      database.exec(sqlOf('sqlite', name))
      database.prepare('INSERT INTO migrations VALUES (?, ?, 0)').run(i + 1, name)
    }
    for (const statement of INSERTS) database.exec(statement)
    migrateSqlite(database, 0)
    const read = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => Object.values(Object(row)))
    expect([read(LANES), read(TENANTS)]).toEqual([WANTED, VERSIONS])
  })

  it.skipIf(!postgresUrl()).each([
    ['a superuser', async (url: string) => url],
    ['a role under row-level security', restrictedRole],
  ])('the PostgreSQL migration by %s counts the open tasks of existing lanes', async (_, login) => {
    const database = await freshDatabase('counting')
    onTestFinished(() => database.drop())
    const client = new pg.Client({ connectionString: await login(database.url) })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(
      'CREATE TABLE migrations (number int PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)',
    )
    for (const [i, name] of BEFORE.entries()) {
      await client.query(sqlOf('postgres', name))
      await client.query('INSERT INTO migrations VALUES ($1, $2, 0)', [i + 1, name])
    }
    await client.query("SELECT set_config('asyncgate.tenants', '{1,2}', false)")
    for (const statement of INSERTS) await client.query(statement)
    await client.query('RESET asyncgate.tenants')
    await migratePostgres(client)
    await client.query("SELECT set_config('asyncgate.tenants', '{1,2}', false)")
    const read = async (text: string) => {
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
      return rows.map((row) => row.map((value) => (/^\d+$/.test(String(value)) ? Number(value) : value)))
    }
    expect([await read(LANES), await read(TENANTS)]).toEqual([WANTED, VERSIONS])
  })
})
