import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { freshDatabase, postgresUrl } from '../support/postgres.ts'
import { startReceiptGate } from '../support/receiptgate.ts'
import { eventually } from '../worker/support.ts'
import { cli, startServer, testFolder } from './support.ts'

vi.setConfig({ testTimeout: 180_000 })

const PATIENCE_SECONDS = 60

async function setUp(settings: Readonly<Record<string, string>>, store: 'sqlite' | 'postgres' = 'sqlite') {
  const remote = await startReceiptGate()
  const home = testFolder()
  const database = store === 'postgres' ? await freshDatabase('strict') : undefined
  if (database !== undefined) onTestFinished(() => database.drop())
  const env = {
    ASYNCGATE_DATABASE_URL: database?.url ?? `sqlite:${join(home, 'gate.db')}`,
    ASYNCGATE_RECEIPT_MODE: 'receiptgate_integrated',
    ASYNCGATE_RECEIPTGATE_ENDPOINT: remote.url,
    ASYNCGATE_RECEIPTGATE_AUTH_TOKEN: remote.key,
    ASYNCGATE_RECEIPTGATE_EMISSION_TIMEOUT_MS: '60000',
    ASYNCGATE_RECEIPTGATE_RETRY_INTERVAL_SECONDS: '1',
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
    ...settings,
  }
  const start = () => startServer(['serve'], home, env)
  const audit = async () => (await cli(['ledger', 'audit', '--remote'], env)).stdout
  return { remote, start, audit }
}

async function post(url: string, path: string, body: object) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = JSON.parse(await response.text())
  return { ...answer, status: response.status, retryAfter: response.headers.get('retry-after') }
}

/** The request ends with the server, so its outcome does not matter. */
const abandon = (call: Promise<unknown>) => void call.catch(() => {})

const STRICT = { ASYNCGATE_RECEIPT_CONSISTENCY_MODE: 'strict' }

const STORES = ['sqlite', ...(postgresUrl() === undefined ? [] : (['postgres'] as const))] as const

it.each(STORES)(
  'strict mode on %s: a completion whose server is killed before ReceiptGate responds is repeated safely',
  async (store) => {
    const { remote, start, audit } = await setUp(STRICT, store)
    const killed = await start()
    // On PostgreSQL a second server takes over; on SQLite the same one is started again.
    const other = store === 'postgres' ? await start() : undefined
    const { task_id } = await post(killed.url, '/v1/tasks', { type: 'sum' })
    const { tasks } = await post(killed.url, '/v1/leases/claim', { worker_id: 'w1' })
    expect(remote.phasesOf(task_id)).toEqual(['accepted'])
    const artifacts = [{ url: 'https://x.example/1' }]
    const done = { worker_id: 'w1', lease_id: tasks[0].lease_id, result: 1, artifacts }
    remote.faults = [{ kind: 'hang_after_storing' }]
    abandon(post(killed.url, `/v1/tasks/${task_id}/complete`, done))
    await eventually(() => remote.stored.length === 2, PATIENCE_SECONDS)
    killed.process.kill('SIGKILL')
    await killed.ended

    const server = other ?? (await start())
    const repeated = await post(server.url, `/v1/tasks/${task_id}/complete`, done)
    expect(repeated).toMatchObject({ status: 200, ok: true, obligation_open: false })
    expect(remote.phasesOf(task_id)).toEqual(['accepted', 'complete'])

    await remote.stop()
    await post(server.url, '/v1/tasks', { type: 'sum' })
    expect(await post(server.url, '/v1/leases/claim', { worker_id: 'w1' })).toMatchObject({
      ...{ status: 503, code: 'LEDGER_UNAVAILABLE', retryAfter: '1', details: { committed: false } },
    })
    await remote.start()
    expect(await post(server.url, '/v1/leases/claim', { worker_id: 'w1' })).toMatchObject({
      tasks: [{ attempt: 0 }],
    })
    await server.stop()
    expect(await audit()).toContain(': 0 differences')
    expect(new Set(remote.storedIds).size).toBe(remote.stored.length)
  },
)

it('synchronous acceptance: a claim whose server is killed before ReceiptGate responds uses no attempt', async () => {
  const { remote, start, audit } = await setUp({
    ASYNCGATE_RECEIPTGATE_ACCEPT_MODE: 'sync',
    ASYNCGATE_LEASE_SWEEP_INTERVAL_SECONDS: '1',
  })
  const killed = await start()
  const { task_id } = await post(killed.url, '/v1/tasks', { type: 'sum' })
  remote.faults = [{ kind: 'hang_after_storing' }]
  abandon(post(killed.url, '/v1/leases/claim', { worker_id: 'w1', lease_ttl_seconds: 1 }))
  await eventually(() => remote.stored.length === 1, PATIENCE_SECONDS)
  killed.process.kill('SIGKILL')
  await killed.ended

  const server = await start()
  const claim = () => post(server.url, '/v1/leases/claim', { worker_id: 'w2', wait_seconds: 20 })
  const { tasks } = await claim()
  expect(tasks).toMatchObject([{ task_id, attempt: 0 }])
  expect(remote.phasesOf(task_id)).toEqual(['accepted'])
  const { lease_id } = tasks[0]
  const done = { worker_id: 'w2', lease_id, result: 1, artifacts: [{ url: 'https://x.example/1' }] }
  expect(await post(server.url, `/v1/tasks/${task_id}/complete`, done)).toMatchObject({ ok: true })
  await eventually(() => remote.stored.length === 2, PATIENCE_SECONDS)
  await server.stop()
  expect(remote.phasesOf(task_id)).toEqual(['accepted', 'complete'])
  expect(await audit()).toContain(': 0 differences')
})
