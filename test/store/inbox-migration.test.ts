import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrate as migratePostgres } from '../../src/store/postgres/migrate.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { migrate as migrateSqlite } from '../../src/store/sqlite/migrate.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'

const BEFORE = ['0001_engine.sql', '0002_entries.sql']

const sqlOf = (store: string, name: string) =>
  readFileSync(new URL(`../../src/store/${store}/migrations/${name}`, import.meta.url), 'utf8')

const TASK = '00000000-0000-7000-8000-000000000001'

/** A ledger without inboxes: a result for bob that was delivered to alice and acknowledged by her, and a lost lease. */
const LEDGER: readonly string[] = [
  ...[
    `1, 'task.assigned', 100, 'service:asyncgate', 'agent:alice'`,
    `2, 'lease.expired', 200, 'service:asyncgate', 'agent:alice'`,
    `3, 'task.result_ready', 300, 'service:asyncgate', 'agent:alice'`,
    `4, 'receipt.acknowledged', 400, 'human:root', 'service:asyncgate'`,
    `5, 'receipt.acknowledged', 500, 'agent:alice', 'service:asyncgate'`,
  ].map(
    (row) =>
      `INSERT INTO receipts (tenant, seq, receipt_type, created_at, "from", "to", task_id, body, hash, instance)
       SELECT tenant, v.seq, v.type, v.at, v.by, v.whom, v.task, '{}', '', ''
       FROM tenants, (SELECT ${named(row)}) v`,
  ),
  ...[
    [4, 2],
    [5, 3],
  ].map(
    ([child, parent]) =>
      `INSERT INTO receipt_parents (tenant, child, parent) SELECT tenant, ${child}, ${parent} FROM tenants`,
  ),
  'INSERT INTO receipt_deliveries (tenant, seq, delivered_at) SELECT tenant, 3, 350 FROM tenants',
  `INSERT INTO tasks_done (tenant, task_id, seq, lane, pool, rank, owner, principal_ai, attempt, max_attempts, expiry_count,
     max_expiries, retry_backoff_seconds, fence, progress_count, updated_at, status, completed_at, error, receipt_seq,
     obligation_open, dead_letter)
   SELECT tenant, ${quoted(TASK)}, 1, 2, 1, 1, 'agent:alice', 'bob', 0, 1, 0, 1, 1, 0, 0, 300, 'canceled', 300, '{}', 3, FALSE, FALSE
   FROM tenants`,
]

const WANTED = [
  ['agent:alice', 2, 200, null, 0, null, null],
  ['agent:alice', 3, 300, 350, 1, 500, 500],
  ['agent:bob', 3, 300, null, 0, null, null],
]

const COLUMNS = 'principal, seq, created_at, delivered_at, delivery_count, read_at, archived_at'
const READ = `SELECT ${COLUMNS} FROM inbox ORDER BY principal, seq`

function named(row: string): string {
  const [seq, type, at, by, whom] = row.split(', ')
  return `${seq} AS seq, ${type} AS type, ${at} AS at, ${by} AS by, ${whom} AS whom, ${quoted(TASK)} AS task`
}

/** PostgreSQL casts the quoted text to a UUID. */
function quoted(id: string): string {
  return `'${id}'`
}

describe('inbox migration', () => {
  it('the SQLite migration files existing receipts in inboxes', async () => {
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
    for (const statement of LEDGER) database.exec(statement)
    migrateSqlite(database, 0)
    const rows = database.prepare(READ).all()
    expect(rows.map((row) => Object.values(Object(row)))).toEqual(WANTED)
    expect(() => database.exec('SELECT * FROM receipt_deliveries')).toThrow(/no such table/)
  })

  it.skipIf(!postgresUrl()).each([
    ['a superuser', async (url: string) => url],
    ['a role under row-level security', restrictedRole],
  ])('the PostgreSQL migration by %s files existing receipts in inboxes', async (_, login) => {
    const database = await freshDatabase('filing')
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
    for (const statement of LEDGER) {
      await client.query(statement.replaceAll(`'${TASK}'`, `'${TASK}'::uuid`))
    }
    await client.query('RESET asyncgate.tenants')
    await migratePostgres(client)
    await client.query(see)
    const { rows } = await client.query({ text: READ, rowMode: 'array' })
    expect(
      rows.map((row: unknown[]) => row.map((value) => (/^\d+$/.test(String(value)) ? Number(value) : value))),
    ).toEqual(WANTED)
    await expect(client.query('SELECT * FROM receipt_deliveries')).rejects.toThrow('does not exist')
  })
})
