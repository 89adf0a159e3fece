import { describe, expect, it } from 'vitest'
import { AuditLog } from '../../../src/features/audit/audit-log.ts'
import type { AuditAlerts, AuditEvent } from '../../../src/features/audit/port.ts'
import type { AuditRow } from '../../../src/store/audit.ts'
import { StoreError } from '../../../src/store/store.ts'
import { admin, describeGates } from '../../support/gates.ts'
import { override } from '../../support/steps.ts'

const action = (subject: string, tenant = 'default'): AuditEvent => ({
  event: 'admin_action',
  tenant,
  subject,
})

/** A log over a database that can fail. */
function openLog(alerts?: AuditAlerts) {
  const database = { isDown: false, refuses: false, rows: [] as AuditRow[], errors: [] as unknown[] }
  const deps: ConstructorParameters<typeof AuditLog>[0] = {
    store: {
      audit: {
        async add(_, rows) {
          if (database.isDown || database.refuses) throw new StoreError('unavailable', 'broken')
          database.rows.push(...rows)
        },
        list: async () => [],
        removeBefore: async () => 0,
      },
      tenants: async () => [],
      ping: async () => {
        if (database.isDown) throw new StoreError('unavailable', 'broken')
      },
    },
    tenant: async (name) => ({ tenant: name.length, name, salt: '' }),
    report: (error) => database.errors.push(error),
  }
  return { log: new AuditLog(deps, { alerts }), database }
}

describe('the buffer of the audit log', () => {
  it('events of several tenants are stored in their order', async () => {
    const { log, database } = openLog()
    for (const event of [action('1'), action('2', 'acme'), action('3')]) log.record(event)
    await log.stop()
    expect(database.rows.map(({ tenant, subject }) => [tenant, subject])).toEqual([
      [7, '1'],
      [7, '3'],
      [4, '2'],
    ])
    expect(database.rows.map(({ id }) => id)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^[0-9a-f]{28}$/)]),
    )
  })

  it('events that could not be stored are stored later', async () => {
    const { log, database } = openLog()
    database.isDown = true
    log.record(action('1'))
    await log.flush()
    expect(database).toMatchObject({ rows: [], errors: [expect.any(StoreError)] })
    database.isDown = false
    log.record(action('2'))
    await log.flush()
    expect(database.rows.map(({ subject }) => subject)).toEqual(['1', '2'])
    await log.stop()
  })

  it('critical events are reported once, also if they are stored only later', async () => {
    const reported: [string, AuditRow][] = []
    const { log, database } = openLog({
      async add(tenant, rows) {
        for (const row of rows) reported.push([tenant, row])
      },
    })
    database.isDown = true
    log.record(action('1', 'acme'))
    log.record({ event: 'cross_tenant_attempt', tenant: 'acme', subject: 'other' })
    await log.flush()
    database.isDown = false
    await log.flush()
    await log.stop()
    expect(reported).toMatchObject([['acme', { event: 'cross_tenant_attempt', subject: 'other' }]])
    expect(database.rows.map(({ id }) => id)).toContain(reported[0]?.[1].id)
  })

  it('events are stored although their alert fails', async () => {
    const { log, database } = openLog({ add: () => Promise.reject(new Error('broken')) })
    log.record({ event: 'token_reused', tenant: 'acme' })
    await log.stop()
    expect(database.rows).toMatchObject([{ event: 'token_reused' }])
    expect(database.errors).toMatchObject([{ message: 'broken' }])
  })

  it('memory is bounded during an outage, and dropped events are an event', async () => {
    const { log, database } = openLog()
    database.isDown = true
    for (let i = 0; i < 2_500; i++) log.record(action(String(i)))
    await log.flush()
    database.isDown = false
    await log.flush()
    await log.stop()
    expect(database.rows).toHaveLength(2_001)
    expect(database.rows.find(({ event }) => event === 'events_dropped')).toMatchObject({
      severity: 'critical',
      details: JSON.stringify({ count: 500 }),
    })
  })

  it('events that the database refuses do not hold up later ones for ever', async () => {
    const { log, database } = openLog()
    database.refuses = true
    log.record(action('poison'))
    for (let i = 0; i < 5; i++) await log.flush()
    database.refuses = false
    log.record(action('good'))
    await log.flush()
    expect(database.rows.map(({ event, subject }) => subject ?? event)).toEqual(
      expect.arrayContaining(['good', 'events_dropped']),
    )
    expect(database.rows.some(({ subject }) => subject === 'poison')).toBe(false)
    await log.stop()
  })

  it('an event that cannot be described fails no request', async () => {
    const { log, database } = openLog()
    log.record({ ...action('1'), details: { broken: 1n } })
    log.record(action('2'))
    await log.stop()
    expect(database.rows.map(({ subject }) => subject)).toEqual(['2'])
    expect(database.errors).toEqual([expect.any(TypeError)])
  })

  it('a stop records the failures that were counted', async () => {
    const { log, database } = openLog()
    for (let i = 0; i < 3; i++) log.record({ event: 'auth_failure', tenant: 'default' })
    await log.stop()
    expect(database.rows.map(({ details }) => details)).toEqual(['{}', '{"count":2,"seconds":0}'])
  })

  it('long and unusual texts are stored in a form that every store accepts', async () => {
    const { log, database } = openLog()
    log.record({
      ...action(`a\0b\ud800${'x'.repeat(1000)}`),
      details: { input: 'y'.repeat(10_000), list: Array(40).fill('z'.repeat(999)) },
    })
    await log.stop()
    const [row] = database.rows
    expect(row?.subject).toMatch(/^ab\ufffdx{296}$/)
    expect(row?.details.length).toBeLessThan(4_001)
  })
})

describeGates('the audit log of a gate', (open) => {
  it('events outlive a restart, and tenants do not see each other', async () => {
    const { gate, another } = await open()
    await gate.putPolicy(admin(), { id: 'a', action: 'BLOCK', scope: { type: 'x' } })
    await gate.putPolicy(admin('acme'), { id: 'b', action: 'BLOCK', scope: { type: 'x' } })
    await gate.close()
    const next = (await another()).gate
    const subjects = async (tenant?: string) =>
      (await next.listAudit(admin(tenant), {})).events.map(({ subject }) => subject)
    expect([await subjects(), await subjects('acme'), await subjects('other')]).toEqual([['a'], ['b'], []])
  })

  it('pages and filters of the list lose nothing', async () => {
    const { gate } = await open()
    for (let i = 0; i < 25; i++) {
      gate.audit.record({
        event: 'admin_action',
        tenant: 'default',
        subject: String(i),
        principal: `human:${i % 2}`,
      })
    }
    gate.audit.record({ event: 'cross_tenant_attempt', tenant: 'default', subject: 'acme' })
    const found: unknown[] = []
    let cursor: string | undefined
    do {
      const page = await gate.listAudit(admin(), {
        event: 'admin_action',
        principal: 'human:1',
        limit: 5,
        cursor,
      })
      found.push(...page.events.map(({ subject }) => Number(subject)))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    expect(found).toEqual([23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1])
    const critical = await gate.listAudit(admin(), { severity: 'critical' })
    expect(critical.events).toMatchObject([{ event: 'cross_tenant_attempt', subject: 'acme' }])
    const future = new Date(Date.now() + 60_000).toISOString()
    expect((await gate.listAudit(admin(), { from: future })).events).toEqual([])
    expect((await gate.listAudit(admin(), { to: future })).events).toHaveLength(26)
    expect((await gate.listAudit(admin(), { to: '2020-01-01T00:00:00Z' })).events).toEqual([])
  })

  it('events are removed after their retention period, of all tenants', async () => {
    const { gate } = await open()
    gate.audit.record(action('1'))
    gate.audit.record(action('2', 'acme'))
    await gate.listAudit(admin(), {})
    const day = 86_400_000
    expect(await gate.audit.sweep(Date.now() + 89 * day)).toBe(0)
    expect(await gate.audit.sweep(Date.now() + 91 * day)).toBe(2)
    expect((await gate.listAudit(admin(), {})).events).toEqual([])
  })

  it('an outage of the log fails no request', async () => {
    const { gate, errors } = await open({
      wrap: (store) =>
        override(store, {
          audit: {
            ...store.audit,
            list: (...given) => store.audit.list(...given),
            add: () => Promise.reject(new StoreError('unavailable', 'broken')),
          },
        }),
    })
    const rule = { id: 'a', action: 'BLOCK', scope: { type: 'x' } }
    expect(await gate.putPolicy(admin(), rule)).toMatchObject(rule)
    expect((await gate.listAudit(admin(), {})).events).toEqual([])
    expect(errors).toEqual([expect.any(StoreError)])
  })
})
