import { afterEach, expect, it, vi } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { pending } from '../../support/questions.ts'
import { soon } from '../../support/steps.ts'

const NOBODY = 'No worker has served type report in the last 2 minutes. The task waits until one does.'
const URL = 'https://gate.example/tools'
const address = () => ({ url: URL, console: true })

describeGates('what a task waits for', (open, storeName) => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const create = async (gate: Awaited<ReturnType<typeof open>>['gate'], type = 'report') =>
    gate.createTask(agent(), { type })

  it('is a worker that nobody has heard of, and the answers say so', async () => {
    const { gate } = await open()
    const created = await create(gate)
    expect(created).toMatchObject({ status: 'queued', live_workers: 0, hint: NOBODY })
    const waited = await soon(gate.waitForTask(agent(), { task_id: created.task_id, wait_seconds: 0 }))
    expect(waited).toMatchObject({ done: false, live_workers: 0, hint: NOBODY })
  })

  it('is a free worker where some take the type, or any', async () => {
    const { gate } = await open()
    await gate.leaseNext(worker('w1'), { worker_id: 'w1', accept_types: ['report', 'other'] })
    await gate.leaseNext(worker('w2'), { worker_id: 'w2', accept_types: ['other'] })
    expect(await create(gate)).toMatchObject({ live_workers: 1 })
    expect(await create(gate)).not.toHaveProperty('hint')
    await gate.registerWorker(worker('w3'), { worker_id: 'w3' })
    expect(await create(gate, 'new')).toMatchObject({ live_workers: 1 })
  })

  it('is noticed as soon as a worker comes, and when it leaves or is drained', async () => {
    const { gate } = await open()
    vi.useFakeTimers({ toFake: ['Date'] })
    expect(await create(gate)).toMatchObject({ live_workers: 0 })
    vi.advanceTimersByTime(100)
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['report'] })
    expect(await create(gate)).toMatchObject({ live_workers: 1 })
    await gate.unregisterWorker(worker('w1'), { worker_id: 'w1' })
    expect(await create(gate)).toMatchObject({ live_workers: 0 })
    vi.advanceTimersByTime(100)
    await gate.registerWorker(worker('w2'), { worker_id: 'w2', accept_types: ['report'] })
    await gate.drainWorker(admin(), { worker_id: 'w2', drain: true })
    vi.advanceTimersByTime(3000)
    expect(await create(gate)).toMatchObject({ live_workers: 0 })
  })

  it('is nobody again when the worker was not heard of for the offline time', async () => {
    const { gate } = await open({ settings: { worker_offline_seconds: 90 } })
    vi.useFakeTimers({ toFake: ['Date'] })
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['report'] })
    expect(await create(gate)).toMatchObject({ live_workers: 1 })
    vi.advanceTimersByTime(91_000)
    expect(await create(gate)).toMatchObject({
      live_workers: 0,
      hint: expect.stringContaining('in the last 90 seconds'),
    })
  })

  it('is known after a restart, or on another server', async () => {
    const { gate, another } = await open()
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['report'] })
    if (storeName === 'sqlite') await gate.close()
    const { gate: second } = await another()
    expect(await create(second)).toMatchObject({ live_workers: 1 })
  })

  it('is a person where a rule wants that, and the answers lead there', async () => {
    const { gate } = await open({ address })
    const rule = { id: 'ask', action: 'REQUIRE_APPROVAL' }
    await gate.putPolicy(admin(), rule)
    const { task_id, ...created } = await create(gate)
    const console_url = `${URL}/console/approvals/${task_id}`
    const hint = expect.stringContaining(
      `${console_url} or "asyncgate approvals approve ${task_id} --url ${URL}"`,
    )
    expect(created).toMatchObject({ status: 'pending_approval', console_url, hint })
    expect(created).not.toHaveProperty('live_workers')
    expect(await gate.getTask(agent(), { task_id })).toMatchObject({ console_url, hint })
    const waited = await soon(gate.waitForTask(agent(), { task_id, wait_seconds: 50 }))
    expect(waited).toMatchObject({ console_url, hint })
  })

  it('names no URL that commands use anyway, and no console where there is none', async () => {
    const { gate } = await open({ address: () => ({ url: 'http://127.0.0.1:8080', console: false }) })
    const { task_id } = await pending(gate)
    const task = await gate.getTask(agent(), { task_id })
    expect(task).not.toHaveProperty('console_url')
    expect(task.hint).toContain(`it: "asyncgate approvals approve ${task_id}"`)
  })

  it('links an ordinary task to its page', async () => {
    const { gate } = await open({ address })
    const { task_id, console_url } = await create(gate)
    expect(console_url).toBe(`${URL}/console/tasks/${task_id}`)
    expect(await gate.getTask(agent(), { task_id })).toMatchObject({ console_url })
  })
})
