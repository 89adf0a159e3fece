import { expect, it } from 'vitest'
import { z } from 'zod'
import { startBillingReceiver } from '../webhooks/billing-receiver.ts'
import { SECRET } from '../webhooks/receiver.ts'
import { cli, startServer, testFolder } from './support.ts'

const KEYS = { ASYNCGATE_API_KEY: 'a-key-of-the-tests', ASYNCGATE_ADMIN_KEYS: 'ann=the-key-of-ann-0001' }
const ANN = { authorization: 'Bearer the-key-of-ann-0001' }

/** A read within a second of another one may not include the latest counts. */
const POLL = { timeout: 10_000, interval: 200 }

async function createTasks(url: string, count: number): Promise<void> {
  const response = await fetch(`${url}/v1/tasks/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEYS.ASYNCGATE_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      principal_id: 'alice',
      tasks: Array.from({ length: count }, () => ({ type: 'job' })),
    }),
  })
  expect(response.ok).toBe(true)
}

const usageShape = z.object({ totals: z.object({ tasks: z.int() }) })

async function tasksOf(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/usage`, { headers: ANN })
  return usageShape.parse(await response.json()).totals.tasks
}

it('a stopped server stores everything, and a killed one only loses what it has not written', async () => {
  const folder = testFolder()
  // Only requests for the usage, and the stop, write within the test.
  const env = { ...KEYS, ASYNCGATE_USAGE_INTERVAL_SECONDS: '3600' }
  const stopped = await startServer(['serve'], folder, env)
  await createTasks(stopped.url, 3)
  await stopped.stop()

  const killed = await startServer(['serve'], folder, env)
  expect(await tasksOf(killed.url)).toBe(3)
  await createTasks(killed.url, 4)
  await expect.poll(() => tasksOf(killed.url), POLL).toBe(7)
  await createTasks(killed.url, 5)
  killed.process.kill('SIGKILL')
  await killed.ended

  const last = await startServer(['serve'], folder, env)
  expect(await tasksOf(last.url)).toBe(7)
  await createTasks(last.url, 1)
  await expect.poll(() => tasksOf(last.url), POLL).toBe(8)
  await last.stop()
})

it('a server writes at intervals, and sends what it could not send before a restart', async () => {
  const folder = testFolder()
  const receiver = await startBillingReceiver()
  const env = {
    ...KEYS,
    ASYNCGATE_USAGE_INTERVAL_SECONDS: '1',
    ASYNCGATE_BILLING_WEBHOOK_URL: receiver.url,
    ASYNCGATE_BILLING_WEBHOOK_SECRET: SECRET,
  }
  const allowed = {
    ASYNCGATE_EGRESS_ALLOW_HTTP: 'true',
    ASYNCGATE_EGRESS_PORTS: 'any',
    ASYNCGATE_EGRESS_PRIVATE: '127.0.0.1',
  }
  const first = await startServer(['serve'], folder, { ...env, ...allowed })
  await createTasks(first.url, 3)
  await expect.poll(() => receiver.accepted.length, POLL).toBe(1)
  // The stop writes an event that only the next server can send.
  await createTasks(first.url, 4)
  await first.stop()
  const second = await startServer(['serve'], folder, { ...env, ...allowed })
  const tasks = () => receiver.accepted.reduce((sum, event) => sum + event.tasks, 0)
  await expect.poll(tasks, POLL).toBe(7)
  expect(new Set(receiver.ids).size).toBe(receiver.ids.length)
  await second.stop()
})

it('asyncgate usage prints a table with totals', async () => {
  const server = await startServer(['serve'], testFolder(), KEYS)
  const usage = (...args: string[]) =>
    cli(['usage', '--url', server.url, '--key', 'the-key-of-ann-0001', ...args], { ASYNCGATE_API_KEY: '' })
  await createTasks(server.url, 2)
  const { code, stdout } = await usage('--from', '24h', '--granularity', 'hour')
  expect(code).toBe(0)
  expect(stdout).toMatch(/FROM +TASKS +LEASE HOURS +RECEIPT BYTE HOURS +CALLS/)
  expect(stdout).toMatch(/total +2 +0 /)
  expect(JSON.parse((await usage('--json')).stdout)).toMatchObject({
    totals: { tasks: 2 },
    granularity: 'day',
  })
  const past = await usage('--from', '2020-01-01T00:00:00Z', '--to', '2020-01-02T00:00:00Z')
  expect(past.stdout).toContain('Nothing was used in this period.')
  expect(await usage('--from', 'yesterday')).toMatchObject({ code: 2 })
  expect((await usage('--granularity', 'week')).code).not.toBe(0)
  await server.stop()
})
