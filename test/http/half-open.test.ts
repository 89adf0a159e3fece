import { afterEach, describe, expect, it, vi } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { serveGate } from './support.ts'

const READY_MS = 5_000
const ANSWER_MS = 10_000

describe.skipIf(!postgresUrl())('a server whose connections to PostgreSQL are half-open', () => {
  const closers: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })

  const open = async () => {
    const database = await freshDatabase('half_open')
    closers.push(() => database.drop())
    const proxy = await startTcpProxy(database.url)
    closers.push(() => proxy.close())
    const gate = openGate({ store: await openPostgresStore({ url: proxy.url }) })
    closers.push(() => gate.close())
    const served = await serveGate(gate)
    expect((await served.post('/v1/tasks', { type: 'x', principal_id: 'alice' })).status).toBe(200)
    proxy.freeze()
    proxy.thaw()
    return served
  }

  it('the server is ready again within 5 s', async () => {
    const { get } = await open()
    const ready = async () => expect((await get('/health/ready')).status).toBe(200)
    await vi.waitFor(ready, { timeout: READY_MS, interval: 100 })
  })

  it('the server creates and lists tasks without an error, within 10 s', async () => {
    const { get, post } = await open()
    const started = Date.now()
    const [created, listed] = await Promise.all([
      post('/v1/tasks', { type: 'x', principal_id: 'alice' }),
      get('/v1/tasks?principal_id=alice'),
    ])
    expect([created.status, listed.status]).toEqual([200, 200])
    expect(Date.now() - started).toBeLessThan(ANSWER_MS)
  })
})
