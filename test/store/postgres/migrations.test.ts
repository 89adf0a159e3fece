import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { knownMigrations } from '../../../src/store/postgres/migrate.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { type FreshDatabase, freshDatabase, postgresUrl, restrictedRole } from '../../support/postgres.ts'

describe.skipIf(!postgresUrl())('PostgreSQL schema', () => {
  let database: FreshDatabase
  beforeEach(async () => {
    database = await freshDatabase('migrations')
  })
  afterEach(() => database.drop())

  const query = async <Row extends object>(url: string, text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      const { rows } = await client.query<Row>(text)
      return rows
    } finally {
      await client.end()
    }
  }

  it('processes that start together create the schema once', async () => {
    const url = await restrictedRole(database.url)
    const stores = await Promise.all(Array.from({ length: 5 }, () => openPostgresStore({ url })))
    const refs = await Promise.all(stores.map((store) => store.tenant('test')))
    expect(refs).toEqual(refs.map(() => refs[0]))
    const secrets = await Promise.all(stores.map((store) => store.secret()))
    expect(new Set(secrets.map((secret) => secret.toString('hex'))).size).toBe(1)
    await Promise.all(stores.map((store) => store.close()))
    const rows = await query(
      url,
      `SELECT number, name, applied_at > 1e12 AS dated FROM migrations ORDER BY number`,
    )
    expect(rows).toEqual(knownMigrations().map((migration) => ({ ...migration, dated: true })))
  })

  it('a schema of a later version is refused and not changed', async () => {
    await (await openPostgresStore({ url: database.url })).close()
    await query(database.url, `INSERT INTO migrations VALUES (9999, '9999_future.sql', 0)`)
    await expect(openPostgresStore({ url: database.url })).rejects.toMatchObject({
      reason: 'unavailable',
      message: expect.stringContaining('9999'),
    })
    expect(await query(database.url, 'SELECT 1 FROM migrations')).toHaveLength(knownMigrations().length + 1)
  })

  it('a schema from before the first release is refused and not changed', async () => {
    await query(
      database.url,
      'CREATE TABLE migrations (number int PRIMARY KEY, name text, applied_at bigint)',
    )
    await query(database.url, `INSERT INTO migrations VALUES (15, '0015_input_length.sql', 0)`)
    await expect(openPostgresStore({ url: database.url })).rejects.toThrow(
      /its schema is number 15, from a version before the first release.*choose another database/,
    )
    expect(await query(database.url, `SELECT to_regclass('tasks') AS tasks`)).toEqual([{ tasks: null }])
  })

  it('a current schema requires no permission to change it', async () => {
    const url = await restrictedRole(database.url)
    await (await openPostgresStore({ url: database.url })).close()
    const role = new URL(url).username
    await query(
      database.url,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
       ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO CURRENT_USER;
       REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
    )
    await expect(query(url, 'CREATE TABLE forbidden ()')).rejects.toThrow('permission denied')
    const store = await openPostgresStore({ url })
    expect(await store.tenant('test')).toMatchObject({ name: 'test' })
    await store.close()
  })

  it('an unreachable server is reported without the password', async () => {
    const url = new URL(database.url)
    url.port = '1'
    url.password = 'hush'
    const error = await openPostgresStore({ url: url.href }).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ name: 'StoreError', reason: 'unavailable' })
    expect(String(error)).toContain('127.0.0.1:1')
    expect(String(error)).not.toContain('hush')
  })
})
