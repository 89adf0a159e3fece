import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { freshDatabase, postgresUrl, restrictedRole } from '../support/postgres.ts'
import { attemptAll, CLOSED, fillTenant } from './foreign-tenant.ts'
import { serveGate } from './support.ts'

vi.setConfig({ testTimeout: 60_000 })

/** A comparison of the tenant of a row with a parameter, or with the tenant of another row. */
const FILTER = /\b((?:\w+\.)?tenant) = (\$\d+|\w+\.tenant)\b/g

/** All sessions may read the directory of tenants, by which a tenant is found. */
const OF_DIRECTORY = /\bFROM tenants\b/

/** From now on, the statements of every connection are sent with their tenant filters made true. */
function stripFilters() {
  const stripped = new Set<string>()
  const query = pg.Client.prototype.query
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [statement] = given
    if (typeof statement === 'object' && statement !== null && 'text' in statement) {
      const text = String(statement.text)
      const without = OF_DIRECTORY.test(text) ? text : text.replace(FILTER, '($1 = $2 OR true)')
      if (without !== text) {
        stripped.add(text)
        given[0] = { ...statement, text: without }
      }
    }
    return Reflect.apply(query, this, given)
  })
  return stripped
}

describe.skipIf(!postgresUrl())('statements that lost their tenant filters', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    for (const close of closers.splice(0).reverse()) await close()
  })

  /** The operations whose responses show an object of another tenant, and what the attempts changed. */
  async function attempt(role: 'restricted' | 'superuser') {
    const database = await freshDatabase('stripped')
    closers.push(() => database.drop())
    const url = role === 'restricted' ? await restrictedRole(database.url) : database.url
    const stripped = stripFilters()
    const gate = openGate({ store: await openPostgresStore({ url }), sweeping: false })
    closers.push(() => gate.close())
    const served = { gate, ...(await serveGate(gate, { auth: CLOSED })) }
    const { ids, state } = await fillTenant(gate)
    const before = await state()
    const attempts = await attemptAll(served, ids, before.task.created_at)
    const leaks = attempts.filter(({ leaks }) => leaks).map(({ operation }) => operation.name)
    return { stripped, leaks, before, after: await state() }
  }

  it('leak nothing and change nothing of another tenant, because row-level security applies', async () => {
    const { stripped, leaks, before, after } = await attempt('restricted')
    const tables = new Set([...stripped].flatMap((text) => text.match(/(?<=FROM )[a-z_]+/g) ?? []))
    expect([...tables]).toEqual(
      expect.arrayContaining(['tasks', 'tasks_live', 'entries', 'ledger', 'audit_events', 'task_receipts']),
    )
    expect(leaks).toEqual([])
    expect(after).toEqual(before)
  })

  it('would leak to a role that row-level security does not apply to', async () => {
    const { stripped, leaks } = await attempt('superuser')
    expect(stripped.size).toBeGreaterThan(20)
    expect(leaks).toEqual(expect.arrayContaining(['list_policies', 'list_keys', 'list_task_types']))
  })
})
