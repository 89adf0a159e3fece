import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrate as migratePostgres } from '../../src/store/postgres/migrate.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { migrate as migrateSqlite } from '../../src/store/sqlite/migrate.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'

const BEFORE = ['0001_engine.sql', '0002_entries.sql', '0003_inbox.sql']

const sqlOf = (store: string, name: string) =>
  readFileSync(new URL(`../../src/store/${store}/migrations/${name}`, import.meta.url), 'utf8')

const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`
const LEASE = '2f1e0d0c-0b0a-4908-8706-050403020100'

const CORE =
  'tenant, task_id, seq, lane, pool, rank, owner, principal_ai, attempt, max_attempts, expiry_count, max_expiries, ' +
  'retry_backoff_seconds, timeout_seconds, fence, progress_count, updated_at, status'
const HELD = 'wake_at, lease_id, holder, worker_id, acquired_at, renewals, started_at'

const core = (n: number, status: string) =>
  `tenant, '${id(n)}', ${n}, 2, 1, ${n}000, 'agent:alice', 'bob', 1, 3, 2, 5, 15, 60, 4, 6, 70${n}, '${status}'`

const INSERTS: readonly string[] = [
  `INSERT INTO tasks (${CORE}) SELECT ${core(1, 'queued')} FROM tenants`,
  `INSERT INTO tasks (${CORE}, wake_at) SELECT ${core(2, 'queued')}, 99 FROM tenants`,
  `INSERT INTO tasks (${CORE}, ${HELD})
   SELECT ${core(3, 'leased')}, 98, '${LEASE}', 'worker:w1', 'w1', 90, 3, NULL FROM tenants`,
  `INSERT INTO tasks (${CORE}, ${HELD})
   SELECT ${core(4, 'running')}, 97, '${LEASE}', 'worker:w1', 'w1', 90, 3, 91 FROM tenants`,
  `INSERT INTO tasks_done (${CORE}, completed_at, result, receipt_seq, obligation_open, dead_letter)
   SELECT ${core(5, 'succeeded')}, 300, '{}', 9, FALSE, FALSE FROM tenants`,
  `INSERT INTO task_specs (tenant, seq, task_id, owner, type, priority, created_at, instance, input)
   SELECT tenant, 1, '${id(1)}', 'agent:alice', 'job', 0, 100, 'i', '{}' FROM tenants`,
]

const OPEN = `SELECT ${CORE}, ${HELD} FROM tasks ORDER BY seq`
const READS = [
  'SELECT seq, question_count FROM tasks ORDER BY seq',
  'SELECT seq, question_count FROM tasks_done',
  'SELECT seq, policy FROM task_specs',
]
const WANTED = [
  [
    [1, 0],
    [2, 0],
    [3, 0],
    [4, 0],
  ],
  [[5, 0]],
  [[1, null]],
]
const INDEXES = ['tasks_deadline', 'tasks_ready', 'tasks_ready_any', 'tasks_status', 'tasks_wake']

/** Updates that the new checks refuse. */
const REFUSED = [
  `UPDATE tasks SET status = 'pending_approval' WHERE seq = 1`,
  `UPDATE tasks SET status = 'pending_approval', question_count = 1 WHERE seq = 3`,
  `UPDATE tasks SET status = 'asleep' WHERE seq = 1`,
  `UPDATE tasks SET lease_id = NULL WHERE seq = 4`,
  `UPDATE tasks SET wake_at = NULL WHERE seq = 3`,
]
const ALLOWED = `UPDATE tasks SET status = 'input_required', question_count = 1 WHERE seq = 1`

describe('questions migration', () => {
  it('the SQLite migration keeps existing tasks and their indexes', async () => {
    const database = await openDatabase(':memory:')
    onTestFinished(() => void database.close())
    database.exec(
      'CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
    )
    for (const [i, name] of BEFORE.entries()) {
      database.exec(sqlOf('sqlite', name))
      database.prepare('INSERT INTO migrations VALUES (?, ?, 0)').run(i + 1, name)
    }
    database.exec("INSERT INTO tenants (name, salt) VALUES ('default', 'salt')")
    for (const statement of INSERTS) database.exec(statement)
    const read = (sql: string) =>
      database
        .prepare(sql)
        .all()
        .map((row) => Object.values(Object(row)))
    const before = read(OPEN)
    expect(before).toHaveLength(4)
    migrateSqlite(database, 0)
    expect(read(OPEN)).toEqual(before)
    expect(READS.map(read)).toEqual(WANTED)
    const indexes = `SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'tasks' AND sql IS NOT NULL ORDER BY name`
    expect(read(indexes).flat()).toEqual(INDEXES)
    for (const statement of REFUSED) expect(() => database.exec(statement), statement).toThrow(/CHECK/)
    database.exec(ALLOWED)
  })

  it.skipIf(!postgresUrl()).each([
    ['a superuser', async (url: string) => url],
    ['a role under row-level security', restrictedRole],
  ])('the PostgreSQL migration by %s keeps existing tasks and their indexes', async (_, login) => {
    const database = await freshDatabase('asking')
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
    await client.query("INSERT INTO tenants (name, salt) VALUES ('default', 'salt')")
    const see = "SELECT set_config('asyncgate.tenants', (SELECT array_agg(tenant)::text FROM tenants), false)"
    await client.query(see)
    for (const statement of INSERTS) {
      await client.query(statement.replace(/'(0{8}-[^']*|2f1e[^']*)'/g, "'$1'::uuid"))
    }
    const read = async (text: string) => {
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' })
      return rows.map((row) => row.map((value) => (/^\d+$/.test(String(value)) ? Number(value) : value)))
    }
    const before = await read(OPEN)
    expect(before).toHaveLength(4)
    await client.query('RESET asyncgate.tenants')
    await migratePostgres(client)
    await client.query(see)
    expect(await read(OPEN)).toEqual(before)
    for (const [i, sql] of READS.entries()) expect(await read(sql)).toEqual(WANTED[i])
    const indexes = `SELECT indexname FROM pg_indexes WHERE tablename = 'tasks' AND indexname <> 'tasks_pkey' ORDER BY indexname`
    expect((await read(indexes)).flat()).toEqual(INDEXES)
    for (const statement of REFUSED) {
      await expect(client.query(statement), statement).rejects.toThrow(/check constraint/)
    }
    await client.query(ALLOWED)
  })
})
