import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/index.ts'
import { createLogger } from '../../src/http/log.ts'
import { openLocalGate } from '../../src/server/open-server.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import { admin } from '../support/gates.ts'

const DAY_MS = 86_400_000

it.each([
  ['90 days by default', {}, 90],
  ['as long as the setting says', { ASYNCGATE_AUDIT_RETENTION_DAYS: '2' }, 2],
])('a server stores audit events %s', async (_, env, days) => {
  const config = loadConfig({ env, file: '/dev/null' })
  const { gate, close } = await openLocalGate(config, createLogger('silent'), {
    store: await openSqliteStore({ path: ':memory:' }),
  })
  onTestFinished(close)
  await gate.putPolicy(admin(), { id: 'a', action: 'BLOCK', scope: { type: 'x' } })
  await gate.listAudit(admin(), {})
  expect(await gate.audit.sweep(Date.now() + (days - 1) * DAY_MS)).toBe(0)
  expect(await gate.audit.sweep(Date.now() + (days + 1) * DAY_MS)).toBe(1)
})

it('a retention period of less than a day is refused', () => {
  expect(() => loadConfig({ env: { ASYNCGATE_AUDIT_RETENTION_DAYS: '0' }, file: '/dev/null' })).toThrow(
    'AUDIT_RETENTION_DAYS',
  )
})
