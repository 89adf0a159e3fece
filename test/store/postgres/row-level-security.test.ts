import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LogLine } from '../../../src/store/entries.ts'
import { openPostgresStore } from '../../../src/store/postgres/store.ts'
import type { Store } from '../../../src/store/store.ts'
import {
  ALICE,
  BOB,
  done,
  item,
  lane,
  progress,
  put,
  question,
  queued,
  receipt,
  spec,
  uuid,
} from '../../support/fixtures.ts'
import { type FreshDatabase, freshDatabase, postgresUrl, restrictedRole } from '../../support/postgres.ts'
import { auditRow } from '../conformance/audit.ts'
import { historyPeriod } from '../conformance/history.ts'
import { usageEvent } from '../conformance/usage.ts'

describe.skipIf(!postgresUrl())('row-level security', () => {
  let database: FreshDatabase
  let store: Store
  let client: pg.Client
  let mine: number
  let theirs: number
  let tables: string[]

  beforeAll(async () => {
    database = await freshDatabase('security')
    const url = await restrictedRole(database.url)
    store = await openPostgresStore({ url })
    mine = (await store.tenant('mine')).tenant
    theirs = (await store.tenant('theirs')).tenant
    for (const tenant of [mine, theirs]) {
      await fill(tenant)
      await store.entries.put({ tenant, kind: 'x', name: 'x', value: '{}', due_at: null })
      await store.logs.add([logLine(tenant)])
      await store.audit.add(tenant, [auditRow(tenant, 1)])
      await store.usage.add(usageEvent(tenant, 1), true)
      await store.history.add(tenant, [historyPeriod('minute', 0)])
      await store.outbox.advance(tenant, 0, 1, [{ seq: 1, task_id: uuid(1) }])
      await store.ledgerLog.append(
        tenant,
        [{ level: 0, n: 0, hashes: Buffer.alloc(32) }],
        { size: 1, created_at: 1, note: 'x' },
        0,
      )
      await store.retention.archive(tenant, { tasks: [], receipts: [], segments: [] }, 'x', 1)
    }
    client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query<{ table_name: string }>(
      `SELECT table_name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'tenant' ORDER BY table_name`,
    )
    tables = rows.map((row) => row.table_name)
  })
  afterAll(async () => {
    await client?.end()
    await store?.close()
    await database?.drop()
  })

  /** A row in every table. */
  const fill = (tenant: number) =>
    put(store, tenant, {
      inserted: [queued({ tenant, seq: 1 })],
      finished: [done({ tenant, seq: 2 })],
      specs: [spec({ tenant, seq: 1 })],
      receipts: [receipt({ tenant, seq: 2, parents: [1], task_id: uuid(3) })],
      opened: [{ tenant, principal: BOB, seq: 1, task_id: uuid(1) }],
      owners: [{ tenant, owner: ALICE, last_rank: 1, weight: 1 }],
      lanes: [lane(tenant, 2)],
      progress: [progress(tenant, uuid(1), 1)],
      relationships: [
        {
          tenant,
          principal: ALICE,
          instance_id: null,
          first_seen_at: 1,
          last_seen_at: 1,
          sessions_count: 1,
          agent_version: null,
          client_capabilities: null,
          instances: null,
        },
      ],
      filed: [item(tenant, 2)],
      marked: [item(tenant, 2, { delivered_at: 1, delivery_count: 1 })],
      asked: [question({ tenant, seq: 1 })],
      linked: [{ tenant, seq: 1, task_id: uuid(2), n: 1, effect: 'cancel' }],
      child_tasks: [{ tenant, parent: 1, seq: 2, task_id: uuid(2) }],
      child_counts: [{ tenant, parent: 1, total: 1, succeeded: 0, failed: 0, canceled: 0 }],
      unsettled: [{ tenant, seq: 2, task_id: uuid(2) }],
    })

  const logLine = (tenant: number): LogLine => ({
    tenant,
    task_id: uuid(1),
    n: 1,
    at: 1,
    lease_id: uuid(9),
    level: 'info',
    text: 'x',
    context: null,
    total: 1,
    is_last: false,
  })

  /** The tenants whose rows a session sees, by table. */
  const visible = async (setting: string | null) => {
    await client.query(setting === null ? 'RESET asyncgate.tenants' : `SET asyncgate.tenants = '${setting}'`)
    const seen: Record<string, number[]> = {}
    for (const table of tables) {
      const { rows } = await client.query<{ tenant: number }>(
        `SELECT DISTINCT tenant FROM ${table} ORDER BY tenant`,
      )
      seen[table] = rows.map((row) => row.tenant)
    }
    return seen
  }
  const everywhere = (tenants: number[]) =>
    Object.fromEntries(tables.map((table) => [table, table === 'tenants' ? [mine, theirs] : tenants]))

  it('row-level security is forced on every table with tenants', async () => {
    expect(tables).toContain('tasks')
    expect(tables).toHaveLength(32)
    const { rows } = await client.query(
      `SELECT relname FROM pg_class
       WHERE relname = ANY ($1) AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)`,
      [tables],
    )
    expect(rows).toEqual([])
  })

  it('a session sees the rows of the tenants that it names', async () => {
    expect(await visible(`{${mine}}`)).toEqual(everywhere([mine]))
    expect(await visible(`{${theirs}}`)).toEqual(everywhere([theirs]))
    expect(await visible(`{${mine},${theirs}}`)).toEqual(everywhere([mine, theirs]))
  })

  it('a session that names no tenant sees nothing', async () => {
    expect(await visible(null)).toEqual(everywhere([]))
    expect(await visible('')).toEqual(everywhere([]))
    expect(await visible('{}')).toEqual(everywhere([]))
  })

  it('a session cannot write rows of other tenants', async () => {
    await client.query(`SET asyncgate.tenants = '{${mine}}'`)
    for (const table of tables) {
      if (table === 'tenants') continue
      const insert = `INSERT INTO ${table} SELECT * FROM ${table}`
      await expect(client.query(insert), table).rejects.toThrow('duplicate key')
      const { rowCount: updated } = await client.query(
        `UPDATE ${table} SET tenant = tenant WHERE tenant = $1`,
        [theirs],
      )
      const { rowCount: deleted } = await client.query(`DELETE FROM ${table} WHERE tenant = $1`, [theirs])
      expect([table, updated, deleted]).toEqual([table, 0, 0])
      await expect(client.query(`UPDATE ${table} SET tenant = $1`, [theirs]), table).rejects.toThrow(
        'row-level security',
      )
    }
    const { rowCount } = await client.query('UPDATE tenants SET seq = 99')
    expect(rowCount).toBe(1)
    expect((await store.reads.counters(theirs)).seq).toBe(0)
  })

  it('a batch and a sweep of several tenants work under row-level security', async () => {
    const due = [mine, theirs].map((tenant) => queued({ tenant, seq: 5, next_eligible_at: 1 }))
    await put(store, [mine, theirs], {
      tenants: [mine, theirs].map((tenant) => ({
        tenant,
        salt: '',
        seq: 5,
        clock: 0,
        open_tasks: 2,
        active_leases: 0,
        ended_tasks: 0,
        receipt_bytes: 0,
        lanes: 2,
        lanes_version: 1,
      })),
      inserted: due,
    })
    const found = await store.due(10)
    const inOrder = found.sort((a, b) => a.tenant - b.tenant || a.task_id.localeCompare(b.task_id))
    // The second task has ended, and its links have not been followed.
    expect(inOrder).toEqual(
      [mine, theirs].flatMap((tenant) => [
        { tenant, task_id: uuid(2) },
        { tenant, task_id: uuid(5) },
      ]),
    )
  })
})
