import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { MemoryInbox } from '../../src/memory/memory-inbox.ts'
import { serviceRequest } from '../../src/memory/service-request.ts'
import { testGate } from '../../src/testing/index.ts'
import { task } from '../../src/worker/index.ts'
import { agent, type Bench, describeGates, worker } from '../support/gates.ts'

const TOKEN = 'service-token-of-the-test'

/** A memory service that knows each dedupe_key once. `statuses` are the next responses; then it accepts. */
async function startService() {
  const service = {
    url: '',
    statuses: [] as number[],
    stored: [] as unknown[],
    keys: new Set<string>(),
    requests: 0,
  }
  const server = createServer(async (request, response) => {
    const receipt = await json(request)
    service.requests++
    if (request.headers['x-service-token'] !== TOKEN) return response.writeHead(401).end()
    const status = service.statuses.shift()
    if (status !== undefined) return response.writeHead(status).end()
    const key = String(Object(receipt).dedupe_key)
    if (service.keys.has(key)) return response.writeHead(409).end('{}')
    service.keys.add(key)
    service.stored.push(receipt)
    return response.writeHead(201).end('{"receipt_id":"r1"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  service.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/internal/inbox/receipt`
  return service
}

async function inboxOn({ store, gate }: Pick<Bench, 'store' | 'gate'>, url: string, token = TOKEN) {
  const tenant = await store.tenant('default')
  const request = serviceRequest({ url, token })
  const clock = { now: Date.now() }
  const lines: string[] = []
  const note = (_: object, message: string) => lines.push(message)
  const inbox = new MemoryInbox({
    store,
    tenant,
    notice: (seq) => gate.resultNotice(tenant.name, seq),
    post: async (receipt, signal) => (await request(receipt, signal)).status,
    log: { warn: note, error: note },
    publicUrl: 'https://gate.example',
    now: () => clock.now,
  })
  await inbox.begin()
  return { clock, lines, sweep: () => inbox.sweep(new AbortController().signal) }
}

async function finish(gate: Bench['gate'], n: number): Promise<string> {
  const { task_id } = await gate.createTask(agent(), { type: 'digest', payload: { n } })
  const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1' })
  const lease_id = String(tasks[0]?.lease_id)
  await gate.complete(worker(), { worker_id: 'w1', task_id, lease_id, result: { n }, artifacts: [{ n }] })
  return task_id
}

describeGates('inbox receipts for a memory service', (open) => {
  it('each ended task is posted once, in order, from the first start on', async () => {
    const { gate, store } = await open()
    const service = await startService()
    await finish(gate, 0)
    const { sweep, lines } = await inboxOn({ gate, store }, service.url)
    const first = await finish(gate, 1)
    const { task_id: second } = await gate.createTask(agent(), { type: 'digest' })
    await gate.cancelTask(agent(), { task_id: second })
    await sweep()
    await sweep()
    expect(service.stored).toMatchObject([
      {
        recipient_ai: 'alice',
        source_system: 'asyncgate',
        dedupe_key: expect.stringContaining(`asyncgate:task_complete:${first}:`),
        title: 'digest: complete',
        summary: 'digest: succeeded',
        metadata: {
          task_id: first,
          task_type: 'digest',
          status: 'complete',
          asyncgate_url: 'https://gate.example',
        },
      },
      { title: 'digest: canceled', metadata: { task_id: second, status: 'canceled' } },
    ])
    expect({ requests: service.requests, lines }).toEqual({ requests: 2, lines: [] })
  })

  it('a receipt is sent again after growing pauses, and one that the service has already is accepted', async () => {
    const { gate, store } = await open()
    const service = await startService()
    const { sweep, clock, lines } = await inboxOn({ gate, store }, service.url)
    const task_id = await finish(gate, 1)
    service.statuses = [500, 429]
    await sweep()
    await sweep()
    expect(service.requests).toBe(1)
    for (let pause = 0; pause < 2; pause++) {
      clock.now += 3_600_000
      await sweep()
    }
    expect(service.stored).toMatchObject([{ metadata: { task_id } }])
    // The process died before it recorded the success.
    const state = await store.entries.get((await store.tenant('default')).tenant, 'memory_inbox', 'state')
    if (state === undefined) throw new Error('there is no state')
    const { version, ...entry } = state
    await store.entries.put({ ...entry, value: JSON.stringify({ failures: 0, next_try_at: 0 }) }, version)
    await sweep()
    expect({ requests: service.requests, stored: service.stored.length }).toEqual({ requests: 4, stored: 1 })
    expect(lines).toEqual(Array(2).fill('an inbox receipt was not accepted; trying again'))
  })

  it('a receipt that the service refuses is logged and does not hold up the next one', async () => {
    const { gate, store } = await open()
    const service = await startService()
    const { sweep, lines } = await inboxOn({ gate, store }, service.url)
    await finish(gate, 1)
    const task_id = await finish(gate, 2)
    service.statuses = [422]
    await sweep()
    expect(service.stored).toMatchObject([{ metadata: { task_id } }])
    expect(lines).toEqual(['the memory service refused an inbox receipt'])
  })

  it('a wrong token holds the receipts back until it is corrected', async () => {
    const { gate, store } = await open()
    const service = await startService()
    const wrong = await inboxOn({ gate, store }, service.url, 'wrong')
    const task_id = await finish(gate, 1)
    await wrong.sweep()
    const right = await inboxOn({ gate, store }, service.url)
    right.clock.now += 3_600_000
    await right.sweep()
    expect(service.stored).toMatchObject([{ metadata: { task_id } }])
  })

  it('receipts of other tenants are not posted', async () => {
    const { gate, store } = await open()
    const service = await startService()
    const { sweep } = await inboxOn({ gate, store }, service.url)
    const other = { ...agent(), tenant: 'acme' }
    const { task_id } = await gate.createTask(other, { type: 'digest' })
    await gate.cancelTask(other, { task_id })
    await sweep()
    expect(service.requests).toBe(0)
  })
})

it('a server posts inbox receipts to the URL of its settings', async () => {
  const service = await startService()
  const gate = await testGate({
    tasks: [task('job', { run: () => 'done' })],
    settings: { memory_inbox_url: service.url, memory_token: TOKEN },
  })
  onTestFinished(() => gate.close())
  const { id } = await gate.client.submit('job')
  await gate.drain()
  await expect.poll(() => service.stored, { timeout: 20_000 }).toMatchObject([{ metadata: { task_id: id } }])
})
