import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { ask, failTask, lease, look, receiptsOf, refusal } from '../../support/steps.ts'

type Fields = Readonly<Record<string, unknown>>

const publish = (gate: Gate, options: Fields, type = 'job') =>
  gate.registerWorker(worker(), { worker_id: 'w1', task_types: [{ type, options }] })
const register = (gate: Gate, options: Fields, type = 'job') =>
  gate.registerTaskType(admin(), { type, ...options })

describeGates('options of task types', (open) => {
  it('the task takes precedence over the admin, the admin over the worker, the worker over the settings', async () => {
    const { gate } = await open({ settings: { default_max_attempts: 2, default_priority: 1 } })
    const fields = async (input: Fields = {}) => {
      const { priority, max_attempts, timeout_seconds, retention_days } = await look(
        gate,
        await ask(gate, input),
      )
      return { priority, max_attempts, timeout_seconds, retention_days }
    }
    const none = { priority: 1, max_attempts: 2, timeout_seconds: null, retention_days: null }
    expect(await fields()).toEqual(none)

    await publish(gate, {
      default_max_attempts: 5,
      default_timeout_seconds: 60,
      default_priority: 7,
      retention_days: 3,
    })
    expect(await fields()).toEqual({ priority: 7, max_attempts: 5, timeout_seconds: 60, retention_days: 3 })

    await register(gate, { default_priority: 9, default_timeout_seconds: 90 })
    const registered = { priority: 9, max_attempts: 5, timeout_seconds: 90, retention_days: 3 }
    expect(await fields()).toEqual(registered)
    expect(await fields({ priority: -1, max_attempts: 1 })).toEqual({
      ...registered,
      priority: -1,
      max_attempts: 1,
    })
    expect(await gate.getTaskType(agent(), { type: 'job' })).toMatchObject({
      published_by: 'registered',
      default_priority: 9,
      default_max_attempts: 5,
    })
  })

  it('a retry policy sets pauses and which errors are retried', async () => {
    const { gate, clock } = await open()
    await publish(gate, {
      default_max_attempts: 10,
      default_retry_backoff_seconds: 1,
      default_retry: { factor: 10, max_backoff_seconds: 50, except: ['E_FATAL'] },
    })
    const task = await ask(gate)
    for (const pause of [1, 10, 50, 50]) {
      const started = clock.now
      const failed = await failTask(gate, await lease(gate), { retryable: true })
      expect(Date.parse(failed.next_eligible_at ?? '') - started).toBe(pause * 1000)
      clock.advance(pause)
    }
    const error = { code: 'E_FATAL', message: 'no' }
    const last = await failTask(gate, await lease(gate), { error, retryable: true })
    expect(last.requeued).toBe(false)
    expect((await look(gate, task)).status).toBe('failed')
    const failure = (await receiptsOf(gate, task)).find((receipt) => receipt.receipt_type === 'task.failed')
    expect(failure?.body).toMatchObject({ error, retry_recommended: false })
  })

  it('the retry policy of a task replaces that of its type', async () => {
    const { gate } = await open()
    await publish(gate, { default_max_attempts: 3, default_retry: { only: ['E_BUSY'] } })
    const retry = { only: ['E_OTHER'], jitter: 0.5 }
    const task = await ask(gate, { retry })
    expect((await look(gate, task)).retry).toEqual(retry)
    const failed = await failTask(gate, await lease(gate), { error: { code: 'E_OTHER' }, retryable: true })
    expect(failed.requeued).toBe(true)
  })

  it('labels of the type are added to those of the task and can be searched', async () => {
    const { gate } = await open()
    await publish(gate, { default_labels: { team: 'search', tier: 'low' } })
    const { task_id } = await ask(gate, { labels: { tier: 'high' } })
    expect((await look(gate, { task_id })).labels).toEqual({ team: 'search', tier: 'high' })
    const found = await gate.listTasks(agent(), { labels: { team: 'search' } })
    expect(found.tasks.map((task) => task.task_id)).toEqual([task_id])
    const many = Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`l${i}`, '1']))
    expect(await refusal(ask(gate, { labels: many }))).toMatchObject({
      details: { path: 'labels', problem: expect.stringContaining('with those of the type') },
    })
  })

  it('an idempotency key is made from the payload', async () => {
    const { gate } = await open()
    await register(gate, { idempotency_key_path: 'order.id' })
    const first = await ask(gate, { payload: { order: { id: 42 } } })
    const again = await ask(gate, { payload: { order: { id: 42 } } })
    expect(again).toMatchObject({ task_id: first.task_id, is_duplicate: true })
    expect((await look(gate, first)).idempotency_key).toBe('job:42')
    expect(await refusal(ask(gate, { payload: { order: { id: 42 }, more: 1 } }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
    expect((await ask(gate, { payload: { order: { id: 43 } } })).is_duplicate).toBe(false)
    const without = await ask(gate, { payload: { order: {} } })
    expect((await look(gate, without)).idempotency_key).toBeNull()
    const given = await ask(gate, { payload: { order: { id: 42 } }, idempotency_key: 'mine' })
    expect(given.is_duplicate).toBe(false)
    const long = await ask(gate, { payload: { order: { id: 'x'.repeat(300) } } })
    expect((await look(gate, long)).idempotency_key).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  it('a retried task is a new one although its payload has the key of the original', async () => {
    const { gate } = await open()
    await register(gate, { idempotency_key_path: 'id' })
    const first = await ask(gate, { payload: { id: 1 } })
    await failTask(gate, await lease(gate), { retryable: false })
    const retried = await gate.retryTask(agent(), { task_id: first.task_id })
    expect(retried.is_duplicate).toBe(false)
  })

  it('invalid options are refused with their path', async () => {
    const { gate } = await open()
    expect(await refusal(publish(gate, { default_retry: { jitter: 2 } }))).toMatchObject({
      details: { path: 'task_types.0.options.default_retry.jitter' },
    })
    expect(await refusal(register(gate, { idempotency_key_path: 'a b' }))).toMatchObject({
      details: { path: 'idempotency_key_path' },
    })
  })
})
