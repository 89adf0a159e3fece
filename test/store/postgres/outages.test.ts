import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import { NO_NEED, type Store, StoreError } from '../../../src/store/store.ts'
import { NO_CHANGES } from '../../support/fixtures.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../../support/postgres.ts'
import { type StopMode, startPostgres } from '../../support/postgres-process.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'

/** COMMIT with its terminator, which distinguishes it from the COMMITTED of BEGIN. */
const COMMIT = 'COMMIT\0'

/** Increments the tenant's seq. */
function raise(store: Store, tenant: number, decided: () => void = () => {}): Promise<unknown> {
  return store.commit({ ...NO_NEED, tenants: [tenant] }, (loaded) => {
    decided()
    return { ...NO_CHANGES, tenants: loaded.tenants.map((row) => ({ ...row, seq: row.seq + 1 })) }
  })
}

function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'done',
    (error: unknown) => (error instanceof StoreError ? error.reason : error),
  )
}

/** After an outage a call may fail once more, but the store soon works again. */
async function expectToRecover(store: Store, tenant: number): Promise<void> {
  await vi.waitFor(async () => expect(await outcome(raise(store, tenant))).toBe('done'), {
    timeout: 15_000,
    interval: 50,
  })
  await vi.waitFor(() => store.reads.counters(tenant), { timeout: 15_000, interval: 50 })
}

const CONNECTIONS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'asyncgate'`

describe.skipIf(!postgresUrl())('broken connection', () => {
  let database: FreshDatabase
  let admin: pg.Client
  let proxy: TcpProxy
  let store: Store
  let tenant: number

  beforeEach(async () => {
    database = await freshDatabase('outages')
    proxy = await startTcpProxy(database.url)
    store = await openPostgresStore({ url: proxy.url })
    tenant = (await store.tenant('test')).tenant
    await raise(store, tenant)
    admin = new pg.Client({ connectionString: database.url, application_name: 'test' })
    await admin.connect()
  })
  afterEach(async () => {
    await store.close()
    await proxy.close()
    await admin.end()
    await database.drop()
  })

  const storedSeq = async () => {
    const { rows } = await admin.query<{ seq: string }>('SELECT seq FROM tenants WHERE tenant = $1', [tenant])
    return Number(rows[0]?.seq)
  }

  it.each([
    ['although the server received it', 'server', 2],
    ['and the server never received it', 'nothing', 1],
  ] as const)(
    'a connection lost between COMMIT and its response has an unknown outcome, %s',
    async (_, reaching, seq) => {
      proxy.cutAt(COMMIT, reaching)
      expect(await outcome(raise(store, tenant))).toBe('unknown')
      await vi.waitFor(async () => expect(await storedSeq()).toBe(seq), { timeout: 5_000 })
      expect(await outcome(raise(store, tenant))).toBe('done')
      expect(await storedSeq()).toBe(seq + 1)
    },
  )

  it.each(['server', 'nothing'] as const)(
    'a connection lost before COMMIT is replaced and the transaction runs again (BEGIN reached: %s)',
    async (reaching) => {
      proxy.cutAt('BEGIN', reaching)
      const decided = vi.fn()
      expect(await outcome(raise(store, tenant, decided))).toBe('done')
      expect(decided).toHaveBeenCalledTimes(1)
      expect(await storedSeq()).toBe(2)
    },
  )

  it('calls continue on new connections after a silent loss', async () => {
    await Promise.all([store.ping(), store.reads.counters(tenant), store.due(1)])
    proxy.freeze()
    proxy.thaw()
    const started = Date.now()
    const entry = { tenant, kind: 'x', name: 'x', value: '{}', due_at: null }
    const calls = [
      raise(store, tenant),
      store.ping(),
      store.reads.counters(tenant),
      store.due(1),
      store.entries.put(entry, 0).then((version) => expect(version).toBe(1)),
      raise(store, tenant),
    ]
    expect(await Promise.all(calls.map(outcome))).toEqual(calls.map(() => 'done'))
    expect(Date.now() - started).toBeLessThan(5_000)
    expect(await storedSeq()).toBe(3)
  })

  it('a waiting session terminated by the server has written nothing', async () => {
    await admin.query('BEGIN')
    await admin.query('SELECT 1 FROM tenants FOR UPDATE')
    const decided = vi.fn()
    const waiting = outcome(raise(store, tenant, decided))
    const { pid } = await vi.waitFor(
      async () => {
        // Without this, a transaction sees the same snapshot of the activity.
        await admin.query('SELECT pg_stat_clear_snapshot()')
        const { rows } = await admin.query<{ pid: number }>(`${CONNECTIONS} AND wait_event_type = 'Lock'`)
        const [row] = rows
        if (row === undefined) throw new Error('no session waits')
        return row
      },
      { timeout: 5_000 },
    )
    await admin.query('SELECT pg_terminate_backend($1)', [pid])
    expect(await waiting).toBe('unavailable')
    expect(decided).not.toHaveBeenCalled()
    await admin.query('ROLLBACK')
    expect(await outcome(raise(store, tenant))).toBe('done')
    expect(await storedSeq()).toBe(2)
  })

  it('a call after an idle connection was terminated gets a new connection', async () => {
    await store.reads.counters(tenant)
    const { rowCount } = await admin.query(`SELECT pg_terminate_backend(pid) FROM (${CONNECTIONS}) own`)
    expect(rowCount).toBeGreaterThanOrEqual(2)
    await expectToRecover(store, tenant)
  })

  it('a commit on a silent connection fails in time, and a later one succeeds', async () => {
    proxy.freeze()
    const started = Date.now()
    const calls = [raise(store, tenant), raise(store, tenant), store.reads.counters(tenant)].map(outcome)
    expect(await Promise.all(calls)).toEqual(['unavailable', 'unavailable', 'unavailable'])
    expect(Date.now() - started).toBeLessThan(12_000)
    proxy.thaw()
    await expectToRecover(store, tenant)
    expect(await storedSeq()).toBe(2)
  })

  it('a transaction that times out because the process was blocked runs again', async () => {
    const standStill = vi.fn(() => {
      if (standStill.mock.calls.length > 1) return
      const until = Date.now() + 3_000
      while (Date.now() < until);
    })
    expect(await outcome(raise(store, tenant, standStill))).toBe('done')
    expect(standStill).toHaveBeenCalledTimes(2)
    expect(await storedSeq()).toBe(2)
  })

  it('a lock that is held too long is reported as an outage', async () => {
    await admin.query('BEGIN')
    await admin.query('SELECT 1 FROM tenants FOR UPDATE')
    expect(await outcome(raise(store, tenant))).toBe('unavailable')
    await admin.query('ROLLBACK')
    expect(await outcome(raise(store, tenant))).toBe('done')
    expect(await storedSeq()).toBe(2)
  })
})

describe.skipIf(!postgresUrl())('stopped server', () => {
  it.each<StopMode>(['fast', 'immediate'])(
    'calls fail after a %s stop until the server is back',
    async (mode) => {
      const server = await startPostgres()
      const [store, other] = await Promise.all([
        openPostgresStore({ url: server.url }),
        openPostgresStore({ url: server.url }),
      ])
      try {
        const { tenant } = await store.tenant('test')
        const heard: unknown[] = []
        store.listen((hint) => heard.push(hint))
        const hint = { tenant, lanes: [1], tasks: [], changes: [], at: 0 }
        const expectToHear = () =>
          vi.waitFor(
            async () => {
              await other.commit({ ...NO_NEED, tenants: [tenant] }, ({ tenants }) => ({
                ...NO_CHANGES,
                tenants: tenants.map((row) => ({ ...row, seq: row.seq + 1 })),
                hints: [hint],
              }))
              expect(heard).toContainEqual(hint)
            },
            { timeout: 15_000, interval: 50 },
          )
        await expectToHear()

        await server.stop(mode)
        const started = Date.now()
        expect(await outcome(raise(store, tenant))).toBe('unavailable')
        expect(await outcome(store.reads.counters(tenant))).toBe('unavailable')
        expect(await outcome(store.due(1))).toBe('unavailable')
        expect(await outcome(store.ping())).toBe('unavailable')
        expect(await outcome(store.tenant('new'))).toBe('unavailable')
        expect(Date.now() - started).toBeLessThan(10_000)

        await server.start()
        await expectToRecover(store, tenant)
        heard.length = 0
        await expectToHear()
      } finally {
        await Promise.all([store.close(), other.close()])
        await server.remove()
      }
    },
  )
})
