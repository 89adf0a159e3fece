import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { NO_NEED } from '../../src/store/store.ts'
import { NO_CHANGES } from '../support/fixtures.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../support/postgres.ts'
import { type Child, startChild } from '../support/processes.ts'

/** The time that docs/reliability.md promises, with a margin for a busy machine. */
const PROMISED_MS = 5_000

describe.skipIf(!postgresUrl())('server stopped in the middle of a transaction', () => {
  let database: FreshDatabase
  let child: Child | undefined

  beforeEach(async () => {
    database = await freshDatabase('stopped')
  })
  afterEach(async () => {
    await child?.kill()
    await database.drop()
  })

  it('a stopped server delays others only briefly, and its transaction runs again when it resumes', async () => {
    const store = await openPostgresStore({ url: database.url })
    try {
      const { tenant } = await store.tenant('test')
      const lines: string[] = []
      child = startChild('stopped', { url: database.url }, (line) => lines.push(line))
      const { alive } = child
      const said = (line: string) =>
        Promise.race([alive, vi.waitFor(() => expect(lines).toContain(line), { timeout: 30_000 })])
      await said('stopping')

      const started = Date.now()
      await store.commit({ ...NO_NEED, tenants: [tenant] }, ({ tenants }) => ({
        ...NO_CHANGES,
        tenants: tenants.map((row) => ({ ...row, seq: row.seq + 1 })),
      }))
      expect(Date.now() - started).toBeLessThan(PROMISED_MS)
      expect((await store.reads.counters(tenant)).seq).toBe(1)

      child.process.kill('SIGCONT')
      await said('committed after 2')
      expect((await store.reads.counters(tenant)).seq).toBe(2)
      await child.finish()
    } finally {
      await store.close()
    }
  }, 60_000)
})
