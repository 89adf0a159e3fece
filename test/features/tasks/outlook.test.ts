import { afterEach, expect, it, vi } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { pending } from '../../support/questions.ts'
import { soon } from '../../support/steps.ts'

const NO_WORKER = 'No worker has served type report in the last 2 minutes. The task waits until one does.'
const URL = 'https://gate.example/tools'
const address = () => ({ url: URL, console: true })

describeGates('outlook of a task', (open, storeName) => {
  afterEach(() => {
    vi.useRealTimers()
  })

  const create = async (gate: Awaited<ReturnType<typeof open>>['gate'], type = 'report') =>
    gate.createTask(agent(), { type })

  it('responses say when no worker has served the type', async () => {
    const { gate } = await open()
    const created = await create(gate)
    expect(created).toMatchObject({ status: 'queued', live_workers: 0, hint: NO_WORKER })
    const waited = await soon(gate.waitForTask(agent(), { task_id: created.task_id, wait_seconds: 0 }))
    expect(waited).toMatchObject({ done: false, live_workers: 0, hint: NO_WORKER })
    const { task_id } = created
    expect(await gate.getTask(agent(), { task_id })).toMatchObject({ hint: NO_WORKER })
    expect(await gate.peekTasks(agent(), { task_ids: [task_id] })).toMatchObject([{ hint: NO_WORKER }])
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['report'] })
    expect(await gate.getTask(agent(), { task_id })).not.toHaveProperty('hint')
  })

  it('live_workers counts workers that take the type or any type', async () => {
    const { gate } = await open()
    await gate.leaseNext(worker('w1'), { worker_id: 'w1', accept_types: ['report', 'other'] })
    await gate.leaseNext(worker('w2'), { worker_id: 'w2', accept_types: ['other'] })
    expect(await create(gate)).toMatchObject({ live_workers: 1 })
    expect(await create(gate)).not.toHaveProperty('hint')
    await gate.registerWorker(worker('w3'), { worker_id: 'w3' })
    expect(await create(gate, 'new')).toMatchObject({ live_workers: 1 })
  })

  it('live_workers changes as soon as a worker starts, stops or is drained', async () => {
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

  it('the hint names a known type that was probably meant', async () => {
    const { gate } = await open()
    await gate.registerTaskType(admin(), { type: 'summarise' })
    const task_types = [{ type: 'translate' }]
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['translate'], task_types })
    await gate.registerWorker(worker('w2'), { worker_id: 'w2', accept_types: ['echo'] })
    const hintOf = async (type: string) => (await create(gate, type)).hint
    expect(await hintOf('ehco')).toMatch(/waits until one does\. Did you mean echo\?$/)
    expect(await hintOf('tanslate')).toContain('Did you mean translate?')
    const created = await create(gate, 'sumarise')
    expect(created.hint).toContain('Did you mean summarise?')
    const { task_id } = created
    const waited = await soon(gate.waitForTask(agent(), { task_id, wait_seconds: 0 }))
    expect(waited.hint).toBe(created.hint)
    expect(await hintOf('summarise')).not.toContain('Did you mean')
    expect(await hintOf('unrelated')).not.toContain('Did you mean')
    const { results } = await gate.createTasks(agent(), { tasks: [{ type: 'ecko' }] })
    expect(results).toMatchObject([{ live_workers: 0, hint: expect.stringContaining('Did you mean echo?') }])
  })

  it('a worker that was silent for the offline time is not counted', async () => {
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

  it('live_workers is known after a restart and on another server', async () => {
    const { gate, another } = await open()
    await gate.registerWorker(worker('w1'), { worker_id: 'w1', accept_types: ['report'] })
    if (storeName === 'sqlite') await gate.close()
    const { gate: second } = await another()
    expect(await create(second)).toMatchObject({ live_workers: 1 })
  })

  it('the hint of a task that needs approval says how to approve it', async () => {
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

  it('the hint has no URL for the default address, and no console link without a console', async () => {
    const { gate } = await open({ address: () => ({ url: 'http://127.0.0.1:8080', console: false }) })
    const { task_id } = await pending(gate)
    const task = await gate.getTask(agent(), { task_id })
    expect(task).not.toHaveProperty('console_url')
    expect(task.hint).toContain(`it: "asyncgate approvals approve ${task_id}"`)
  })

  it('an ordinary task links to its page in the console', async () => {
    const { gate } = await open({ address })
    const { task_id, console_url } = await create(gate)
    expect(console_url).toBe(`${URL}/console/tasks/${task_id}`)
    expect(await gate.getTask(agent(), { task_id })).toMatchObject({ console_url })
  })
})
