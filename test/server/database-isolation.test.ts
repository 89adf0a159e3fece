import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { databaseOf } from '../../src/config/database.ts'
import { findIsolationProblems, requireIsolation } from '../../src/server/database-isolation.ts'
import { openStore } from '../../src/server/open-store.ts'
import { OperatorError } from '../../src/server/operator-error.ts'
import { cli } from '../cli/support.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'

/** The statements of docs/security.md for a role that owns nothing. */
const GRANTS = `
  GRANT USAGE ON SCHEMA public TO ROLE_NAME;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ROLE_NAME;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ROLE_NAME;`

describe.skipIf(!postgresUrl())('isolation of tenants by PostgreSQL', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  const execute = async (url: string, statements: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(statements).finally(() => client.end())
  }

  /** A database with its schema, owned by a role that row-level security applies to. */
  async function migrated() {
    const database = await freshDatabase('isolation')
    closers.push(() => database.drop())
    const owner = await restrictedRole(database.url)
    await (await openStore(databaseOf(owner))).close()
    return { superuser: database.url, owner }
  }

  /** The URL of a new role that may read and write, and owns nothing. */
  async function roleThatOwnsNothing(
    { superuser, owner }: { superuser: string; owner: string },
    attributes = '',
  ) {
    const name = `role_${randomBytes(6).toString('hex')}`
    await execute(superuser, `CREATE ROLE ${name} LOGIN PASSWORD 'x' ${attributes}`)
    await execute(owner, GRANTS.replaceAll('ROLE_NAME', name))
    closers.push(() => execute(superuser, `DROP OWNED BY ${name}; DROP ROLE ${name}`))
    const url = new URL(owner)
    url.username = name
    url.password = 'x'
    return url.href
  }

  const problems = async (url: string) =>
    (await findIsolationProblems(databaseOf(url))).map(({ message }) => message)

  it('an owner and a role that owns nothing are accepted, and both can run a server', async () => {
    const urls = await migrated()
    const plain = await roleThatOwnsNothing(urls)
    for (const url of [urls.owner, plain]) {
      expect(await problems(url)).toEqual([])
      const store = await openStore(databaseOf(url))
      const { tenant } = await store.tenant(`of-${new URL(url).username}`)
      await store.entries.put({ tenant, kind: 'x', name: 'x', value: '{}', due_at: null })
      expect(await store.entries.get(tenant, 'x', 'x')).toMatchObject({ value: '{}' })
      await store.close()
    }
  })

  it('a superuser and a role with BYPASSRLS are problems', async () => {
    const urls = await migrated()
    expect(await problems(urls.superuser)).toEqual([expect.stringContaining('is a superuser')])
    const bypassing = await roleThatOwnsNothing(urls, 'BYPASSRLS')
    expect(await problems(bypassing)).toEqual([expect.stringContaining('has BYPASSRLS')])
  })

  it('a table without forced row-level security is a problem, until its fix is applied', async () => {
    const { owner } = await migrated()
    await execute(
      owner,
      'ALTER TABLE tasks NO FORCE ROW LEVEL SECURITY; ALTER TABLE inbox DISABLE ROW LEVEL SECURITY',
    )
    const [found, ...others] = await findIsolationProblems(databaseOf(owner))
    expect(found?.message).toBe('Row-level security is not forced on the tables inbox, tasks.')
    expect(others).toEqual([])
    await execute(owner, /ALTER TABLE.*;/.exec(found?.fix ?? '')?.[0] ?? '')
    expect(await problems(owner)).toEqual([])
  })

  it('every unique key contains the tenant, so that ids may repeat across tenants', async () => {
    const { owner } = await migrated()
    const client = new pg.Client({ connectionString: owner })
    await client.connect()
    const { rows } = await client
      .query<{ index: string; columns: string[] }>(
        `SELECT i.indexrelid::regclass::text AS index, array_agg(a.attname::text) AS columns
         FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
         JOIN pg_attribute a ON a.attrelid = i.indexrelid
         WHERE t.relnamespace = 'public'::regnamespace AND i.indisunique AND EXISTS (
           SELECT FROM pg_attribute c WHERE c.attrelid = t.oid AND c.attname = 'tenant' AND t.relname <> 'tenants')
         GROUP BY i.indexrelid`,
      )
      .finally(() => client.end())
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter(({ columns }) => !columns.includes('tenant')).map(({ index }) => index)).toEqual([])
  })

  it('staging and production refuse it, and development warns', async () => {
    const database = databaseOf((await migrated()).superuser)
    for (const env of ['staging', 'production'] as const) {
      await expect(requireIsolation(database, { env }, expect.unreachable)).rejects.toThrow(OperatorError)
    }
    const warnings: string[] = []
    await requireIsolation(database, { env: 'development' }, (text) => warnings.push(text))
    expect(warnings).toEqual([expect.stringContaining('Staging and production refuse')])
  })

  it('a production server does not start, and doctor gives the same reason', async () => {
    const { superuser, owner } = await migrated()
    const env = (url: string) => ({
      ASYNCGATE_ENV: 'production',
      ASYNCGATE_API_KEY: 'a-key-that-is-long-enough-1',
      ASYNCGATE_DATABASE_URL: url,
    })
    const served = await cli(['serve', '--port', '0'], env(superuser))
    expect(served.code).toBe(1)
    expect(served.stderr).toContain('is a superuser, so row-level security does not keep tenants apart.')
    const ill = await cli(['doctor', '--port', '0'], env(superuser))
    expect(ill.stdout).toMatch(/isolation FAILED {2}The database role \w+ is a superuser/)
    const well = await cli(['doctor', '--port', '0'], env(owner))
    expect(well.stdout).toMatch(/isolation ok/)
  })
})

it('an SQLite file has no roles to check', async () => {
  expect(await findIsolationProblems({ kind: 'sqlite', path: ':memory:' })).toEqual([])
})
