import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { startReceiptGate } from '../support/receiptgate.ts'
import { eventually } from '../worker/support.ts'
import { cli, startServer, testFolder } from './support.ts'

vi.setConfig({ testTimeout: 120_000 })

const PATIENCE_SECONDS = 60

/** A server in a folder, which sends its receipts to ReceiptGate and can be killed and started again. */
async function setUp() {
  const remote = await startReceiptGate()
  const home = testFolder()
  const env = {
    ASYNCGATE_DATABASE_URL: `sqlite:${join(home, 'gate.db')}`,
    ASYNCGATE_RECEIPT_MODE: 'memorygate_integrated',
    ASYNCGATE_RECEIPTGATE_ENDPOINT: remote.url,
    ASYNCGATE_RECEIPTGATE_AUTH_TOKEN: remote.key,
    ASYNCGATE_RECEIPTGATE_EMISSION_TIMEOUT_MS: '60000',
    ASYNCGATE_RECEIPTGATE_RETRY_INTERVAL_SECONDS: '1',
    ASYNCGATE_ALLOW_INSECURE_DEV: 'true',
  }
  const start = () => startServer(['serve'], home, env)
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(['ledger', ...args], env)
    return { code, stdout, stderr }
  }
  return { remote, home, start, run }
}

async function call(url: string, method: string, path: string, body?: object) {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.status, path).toBeLessThan(300)
  return JSON.parse(await response.text())
}

it('receipts arrive exactly once although the server is killed, and the commands agree with ReceiptGate', async () => {
  const { remote, home, start, run } = await setUp()
  const killed = await start()
  expect(await call(killed.url, 'GET', '/v1/config')).toMatchObject({
    receipt_mode: 'receiptgate_integrated',
    receiptgate_endpoint: `${remote.url}/mcp`,
  })
  remote.standing = { kind: 'hang_after_storing' }
  const { task_id } = await call(killed.url, 'POST', '/v1/tasks', { type: 'sum', principal_ai: 'ann' })
  const { tasks } = await call(killed.url, 'POST', '/v1/leases/claim', { worker_id: 'w1' })
  expect(tasks).toMatchObject([
    {
      task_id,
      tenant_id: 'default',
      receipt_routing: { endpoint: `${remote.url}/mcp`, schema_version: '1.0' },
    },
  ])
  const done = {
    worker_id: 'w1',
    lease_id: tasks[0].lease_id,
    result: 1,
    artifacts: [{ url: 'https://x.example/1' }],
  }
  await call(killed.url, 'POST', `/v1/tasks/${task_id}/complete`, done)
  await eventually(() => remote.stored.length === 1, PATIENCE_SECONDS)
  const bootstrap = await call(killed.url, 'GET', '/v1/bootstrap')
  expect(bootstrap.receipt_routing).toMatchObject({ mode: 'receiptgate_integrated' })
  expect(JSON.stringify(bootstrap)).not.toContain(remote.key)
  killed.process.kill('SIGKILL')
  await killed.ended

  expect(await run('status')).toMatchObject({ code: 0, stdout: 'Waiting: 1. Set aside: 0.\n' })
  remote.standing = undefined
  const server = await start()
  await eventually(() => remote.stored.length === 2, PATIENCE_SECONDS)
  await server.stop()
  expect(remote.phasesOf(task_id)).toEqual(['accepted', 'complete'])
  expect(remote.submissions.map(({ outcome }) => outcome)).toEqual(['stored', 'replay', 'stored'])
  expect(remote.submissions[0]?.text).toBe(remote.submissions[1]?.text)

  expect(JSON.parse((await run('status', '--json')).stdout)).toEqual({
    pending: 0,
    set_aside: 0,
    receipts: [],
  })
  expect(await run('audit', '--remote')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(': 0 differences'),
  })
  const exported = await run('export')
  const lines = exported.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map(({ receipt }) => receipt.seq)).toEqual(lines.map((_, i) => i + 1))
  expect(lines.flatMap(({ canonical }) => canonical?.phase ?? [])).toEqual(['accepted', 'complete'])

  const file = join(home, 'receipts.jsonl')
  writeFileSync(file, exported.stdout)
  const imported = await run('import', file, '--json')
  expect(JSON.parse(imported.stdout)).toEqual({ accepted: 2, skipped: lines.length - 2, rejected: [] })
  expect(remote.stored).toHaveLength(2)

  const into = `sqlite:${join(home, 'rebuilt.db')}`
  const tried = JSON.parse((await run('rebuild', file, '--dry-run', '--json')).stdout)
  expect(tried).toMatchObject({ dry_run: true, receipts: lines.length, tasks: { succeeded: 1 } })
  expect(existsSync(join(home, 'rebuilt.db'))).toBe(false)
  expect(await run('rebuild', file, '--into', into)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`Restored ${lines.length} receipts and 1 ended tasks`),
  })
  const again = await cli(['ledger', 'export', '--database-url', into])
  expect(again.stdout).toBe(exported.stdout)
  expect(await run('rebuild', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('--into') })
  const elsewhere = await run('rebuild', file, '--into', 'mysql://x')
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('sqlite:PATH') })
  expect(await run('export', '--tenant', 'nobody')).toMatchObject({ code: 3 })

  remote.stored.length = 0
  const differing = await run('audit', '--remote')
  expect(differing.code).toBe(1)
  expect(differing.stdout).toContain('ReceiptGate does not have receipt')
  writeFileSync(file, 'not a line')
  expect(await run('import', file)).toMatchObject({ code: 2, stderr: expect.stringContaining('Line 1') })
  expect(await run('requeue')).toMatchObject({ code: 0, stdout: 'Receipts that are sent again: 0.\n' })
})

it('metrics count the receipts that were sent', async () => {
  const { start } = await setUp()
  const server = await start()
  await call(server.url, 'POST', '/v1/tasks', { type: 'sum' })
  await call(server.url, 'POST', '/v1/leases/claim', { worker_id: 'w1' })
  const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
  const sent = 'asyncgate_receipt_emissions_total{outcome="accepted"} 1'
  await expect.poll(metrics, { timeout: PATIENCE_SECONDS * 1000 }).toContain(sent)
  expect(await metrics()).toContain('asyncgate_receipt_emission_duration_seconds_count 1')
  await server.stop()
})

it('the commands that need a ReceiptGate say so if there is none', async () => {
  const env = { ASYNCGATE_DATABASE_URL: `sqlite:${join(testFolder(), 'gate.db')}` }
  const refused = await cli(['ledger', 'audit', '--remote'], env)
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ASYNCGATE_RECEIPTGATE_ENDPOINT'),
  })
  expect(await cli(['ledger', 'audit'], env)).toMatchObject({ code: 0 })
})
