import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeState, OPEN_CODES } from '../../../src/store/layout/task-state.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { emptyLoaded, type Loaded, NO_NEED, type Store } from '../../../src/store/store.ts'
import { NO_CHANGES, put, queued, receipt, uuid } from '../../support/fixtures.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../../support/postgres.ts'

describe.skipIf(!postgresUrl())('processes on one database', () => {
  let database: FreshDatabase
  let one: Store
  let other: Store
  let admin: pg.Client
  let tenant: number

  beforeEach(async () => {
    database = await freshDatabase('turns')
    one = await openPostgresStore({ url: database.url })
    other = await openPostgresStore({ url: database.url })
    tenant = (await one.tenant('test')).tenant
    admin = new pg.Client({ connectionString: database.url, application_name: 'test' })
    await admin.connect()
  })
  afterEach(async () => {
    await Promise.all([one.close(), other.close(), admin.end()])
    await database.drop()
  })

  /** The data that a batch loads after it had to wait for the tenant until `meanwhile` was over. */
  const loadAfterWaiting = async (meanwhile: () => Promise<void>): Promise<Loaded> => {
    await admin.query('BEGIN')
    await admin.query('SELECT 1 FROM tenants WHERE tenant = $1 FOR UPDATE', [tenant])
    let seen = emptyLoaded(0)
    const need = { ...NO_NEED, tenants: [tenant], tasks: [{ tenant, task_id: uuid(1) }] }
    const waiting = one.commit(need, (loaded) => {
      seen = loaded
      return NO_CHANGES
    })
    await vi.waitFor(async () => {
      // Without this, a transaction sees the same snapshot of the activity.
      await admin.query('SELECT pg_stat_clear_snapshot()')
      const { rows } = await admin.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'asyncgate' AND wait_event_type = 'Lock'`,
      )
      expect(rows).toHaveLength(1)
    })
    await meanwhile()
    await waiting
    return seen
  }

  it('commits of several processes on one tenant are serialized and none is lost', async () => {
    const times: number[] = []
    const raise = (store: Store) =>
      store.commit({ ...NO_NEED, tenants: [tenant] }, ({ tenants, now }) => {
        times.push(now)
        const seq = (tenants[0]?.seq ?? 0) + 1
        return {
          ...NO_CHANGES,
          tenants: tenants.map((row) => ({ ...row, seq })),
          receipts: [receipt({ tenant, seq })],
        }
      })
    await Promise.all(Array.from({ length: 60 }, (_, n) => raise(n % 2 === 0 ? one : other)))
    expect((await one.reads.counters(tenant)).seq).toBe(60)
    const receipts = await other.reads.receipts(tenant, { by: 'all' }, 0, 'ascending', 100)
    expect(receipts.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('commits of several tenants never deadlock', async () => {
    const tenants = [tenant]
    for (const name of ['b', 'c', 'd']) tenants.push((await one.tenant(name)).tenant)
    const raise = (store: Store, some: number[]) =>
      store.commit({ ...NO_NEED, tenants: some }, (loaded) => ({
        ...NO_CHANGES,
        tenants: loaded.tenants.map((row) => ({ ...row, seq: row.seq + 1 })),
      }))
    const rounds = Array.from({ length: 30 }, (_, n) => tenants.filter((_, i) => (n + i) % 3 !== 0))
    await Promise.all(rounds.flatMap((some) => [raise(one, some), raise(other, some)]))
    const seqs = await Promise.all(tenants.map(async (id) => (await one.reads.counters(id)).seq))
    const expected = tenants.map((id) => 2 * rounds.filter((some) => some.includes(id)).length)
    expect(seqs).toEqual(expected)
  })

  it('a batch sees what was committed while it waited', async () => {
    const seen = await loadAfterWaiting(async () => {
      await admin.query('UPDATE tenants SET seq = 41 WHERE tenant = $1', [tenant])
      await insertTask(admin, tenant)
      await admin.query('COMMIT')
    })
    expect(seen.tenants.map(({ seq }) => seq)).toEqual([41])
    expect(seen.tasks).toEqual([queued({ tenant, seq: 1 })])
  })

  it('a batch reads the clock after it waited', async () => {
    let released = 0
    const seen = await loadAfterWaiting(async () => {
      const { rows } = await admin.query<{ now: string }>(
        'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
      )
      released = Number(rows[0]?.now)
      await admin.query('ROLLBACK')
    })
    expect(released).toBeGreaterThan(0)
    expect(seen.now).toBeGreaterThanOrEqual(released)
  })

  it('a batch never runs before the time of the last commit', async () => {
    const future = Date.now() + 3_600_000
    await put(one, tenant, { receipts: [receipt({ tenant, seq: 1 })] })
    await admin.query('UPDATE tenants SET committed_at = $1', [future])
    let now = 0
    await other.commit({ ...NO_NEED, tenants: [tenant] }, (loaded) => {
      now = loaded.now
      return NO_CHANGES
    })
    expect(now).toBeGreaterThanOrEqual(future)
  })
})

/** Inserts a ready task with seq 1, like the fixture. */
async function insertTask(client: pg.Client, tenant: number): Promise<void> {
  const task = queued({ tenant, seq: 1 })
  await client.query(
    `INSERT INTO tasks_live (tenant, parked, seq, status, lane, pool, rank, owner, state)
     VALUES ($1, 0, 1, $2, $3, $4, $5, $6, $7)`,
    [tenant, OPEN_CODES.queued, task.lane, task.pool, task.rank, task.owner, encodeState(task, [])],
  )
}
