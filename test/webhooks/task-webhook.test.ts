import { expect, it } from 'vitest'
import { postTo } from '../../src/webhooks/post.ts'
import { HOLD_MS, MAX_ATTEMPTS } from '../../src/webhooks/retry-policy.ts'
import { TaskWebhook, type TaskWebhookOptions } from '../../src/webhooks/task-webhook.ts'
import { admin, agent, type Bench, describeGates, worker } from '../support/gates.ts'
import { ask, finish, hold, lease, refusal } from '../support/steps.ts'
import { SECRET, startTaskReceiver } from './task-receiver.ts'

/** Settings with which the egress guard allows the local receiver. */
const LOOPBACK = { allow_http: true, allowed_ports: 'any', allowed_private: ['127.0.0.1'] } as const

const WITH_WEBHOOKS = { webhookTenants: new Set(['default']) }

async function senderOn({ store, gate }: Bench, options: Partial<TaskWebhookOptions> = {}) {
  const lines: string[] = []
  const note = (_: object, message: string) => lines.push(message)
  const outcomes: string[] = []
  const webhook = new TaskWebhook({
    store,
    gate,
    tenant: await store.tenant('default'),
    postTo: (url) => postTo({ url, secret: SECRET, egress: LOOPBACK, isGuarded: true }),
    log: { warn: note, error: note },
    onAttempt: (outcome) => outcomes.push(outcome),
    ...options,
  })
  const sweep = (signal = new AbortController().signal) => webhook.sweep(signal)
  // From now on, ended tasks are considered.
  await sweep()
  return { sweep, lines, outcomes }
}

const shown = async ({ gate }: Bench, task_id: string) => (await gate.getTask(agent(), { task_id })).webhook

describeGates('completion webhooks', (open) => {
  it('each task that has ended is announced once, signed, with an id of its terminal state', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const { gate } = bench
    const receiver = await startTaskReceiver()
    const { sweep, outcomes } = await senderOn(bench)
    const webhook_url = receiver.url
    const done = await hold(gate, { webhook_url, labels: { team: 'a' }, session_id: 's' })
    expect(await shown(bench, done.task_id)).toMatchObject({
      url: webhook_url,
      state: 'waiting',
      attempts: 0,
    })
    await finish(gate, done)
    expect(await shown(bench, done.task_id)).toMatchObject({ state: 'pending' })
    const failing = await hold(gate, { webhook_url })
    const { task_id, lease_id } = failing
    const error = { code: 'BROKEN', message: 'private details' }
    await gate.fail(worker(), { worker_id: 'w1', task_id, lease_id, error, retryable: false })
    const canceled = await ask(gate, { webhook_url })
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    const other = await hold(gate)
    await finish(gate, other)
    await sweep()
    await sweep()
    expect(receiver.ids.toSorted()).toEqual(
      [`${done.task_id}.succeeded`, `${task_id}.failed`, `${canceled.task_id}.canceled`].toSorted(),
    )
    const of = (id: string) => receiver.accepted.find(({ data }) => data.task_id === id)
    expect(of(done.task_id)).toMatchObject({
      type: 'task.succeeded',
      data: { type: 'job', status: 'succeeded', error_code: null, labels: { team: 'a' }, session_id: 's' },
    })
    expect(of(task_id)).toMatchObject({ type: 'task.failed', data: { error_code: 'BROKEN' } })
    expect(JSON.stringify(receiver.accepted)).not.toContain('private details')
    expect(receiver.unsigned).toBe(0)
    expect(outcomes).toEqual(['delivered', 'delivered', 'delivered'])
    expect(await shown(bench, done.task_id)).toMatchObject({
      state: 'delivered',
      attempts: 1,
      delivered_at: expect.any(String),
      error: null,
    })
    expect(await shown(bench, other.task_id)).toBeUndefined()
  })

  it('a message that is not accepted is sent again after growing pauses, and then dropped', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const receiver = await startTaskReceiver()
    const { sweep, outcomes } = await senderOn(bench)
    const offer = await hold(bench.gate, { webhook_url: receiver.url })
    await finish(bench.gate, offer)
    receiver.statuses = Array.from({ length: MAX_ATTEMPTS }, () => 500)
    await sweep()
    expect(await shown(bench, offer.task_id)).toMatchObject({
      state: 'pending',
      attempts: 1,
      error: 'it responded with 500',
      next_attempt_at: new Date(bench.clock.now + 5_000).toISOString(),
    })
    bench.clock.advance(4)
    await sweep()
    expect(receiver.ids).toHaveLength(1)
    for (let i = 1; i < MAX_ATTEMPTS; i++) {
      bench.clock.advance(3_600)
      await sweep()
    }
    expect(new Set(receiver.ids)).toEqual(new Set([`${offer.task_id}.succeeded`]))
    expect(receiver.ids).toHaveLength(MAX_ATTEMPTS)
    expect(await shown(bench, offer.task_id)).toMatchObject({ state: 'failed', next_attempt_at: null })
    expect(outcomes.at(-1)).toBe('failed')
    bench.clock.advance(3_600)
    await sweep()
    expect(receiver.ids).toHaveLength(MAX_ATTEMPTS)
  })

  it('an address that the egress guard refuses is not tried again, and the others are sent', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const receiver = await startTaskReceiver()
    const { sweep } = await senderOn(bench, {
      postTo: (url) =>
        postTo({ url, secret: SECRET, isGuarded: true, ...(url === receiver.url && { egress: LOOPBACK }) }),
    })
    const refused = await hold(bench.gate, { webhook_url: 'https://127.0.0.1/private' })
    await finish(bench.gate, refused)
    const fine = await hold(bench.gate, { webhook_url: receiver.url })
    await finish(bench.gate, fine)
    await sweep()
    expect(await shown(bench, refused.task_id)).toMatchObject({ state: 'failed', attempts: 1 })
    expect(await shown(bench, fine.task_id)).toMatchObject({ state: 'delivered' })
  })

  it('two servers send each message once', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const receiver = await startTaskReceiver()
    const senders = [await senderOn(bench), await senderOn(bench)]
    for (let i = 0; i < 20; i++) {
      await finish(bench.gate, await hold(bench.gate, { webhook_url: receiver.url }))
    }
    await Promise.all(senders.map(({ sweep }) => sweep()))
    await Promise.all(senders.map(({ sweep }) => sweep()))
    expect(receiver.ids).toHaveLength(20)
    expect(new Set(receiver.ids).size).toBe(20)
  })

  it('a message is sent by the next server if one dies before or while it sends', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const receiver = await startTaskReceiver()
    let begun = () => {}
    const sending = new Promise<void>((resolve) => {
      begun = resolve
    })
    const dying = await senderOn(bench, {
      postTo: () => () => {
        begun()
        return new Promise(() => {})
      },
    })
    const offer = await hold(bench.gate, { webhook_url: receiver.url })
    await finish(bench.gate, offer)
    void dying.sweep()
    await sending
    const unsent = await hold(bench.gate, { webhook_url: receiver.url })
    await finish(bench.gate, unsent)
    const { sweep } = await senderOn(bench)
    expect(receiver.ids).toEqual([`${unsent.task_id}.succeeded`])
    bench.clock.advance(HOLD_MS / 1000)
    await sweep()
    expect(receiver.ids).toEqual([`${unsent.task_id}.succeeded`, `${offer.task_id}.succeeded`])
  })

  it('the webhook of a type applies to its tasks, and that of a task takes precedence', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const { gate } = bench
    const [ofType, ofTask] = [await startTaskReceiver(), await startTaskReceiver()]
    const { sweep } = await senderOn(bench)
    await gate.registerTaskType(admin(), { type: 'report', webhook_url: ofType.url })
    await ask(gate, { type: 'report' })
    await ask(gate, { type: 'report', webhook_url: ofTask.url })
    const offers = [await lease(gate), await lease(gate)]
    for (const offer of offers) await finish(gate, offer)
    await sweep()
    expect([ofType.ids.length, ofTask.ids.length]).toEqual([1, 1])
  })

  it('a webhook needs a secret of the tenant and an http URL', async () => {
    const { gate } = await open()
    const webhook_url = 'https://hooks.example/done'
    expect(await refusal(ask(gate, { webhook_url }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      message: expect.stringContaining('TASK_WEBHOOK_SECRET'),
    })
    expect(await refusal(gate.registerTaskType(admin(), { type: 'x', webhook_url }))).toMatchObject({
      message: expect.stringContaining('TASK_WEBHOOK_SECRET'),
    })
    for (const wrong of ['ftp://hooks.example', 'no url', 'https://user:password@hooks.example/']) {
      expect(await refusal(ask(gate, { webhook_url: wrong }))).toMatchObject({
        details: { path: 'webhook_url' },
      })
    }
  })

  it('a delivery is removed after a month', async () => {
    const bench = await open(WITH_WEBHOOKS)
    const receiver = await startTaskReceiver()
    const { sweep } = await senderOn(bench)
    const offer = await hold(bench.gate, { webhook_url: receiver.url })
    await finish(bench.gate, offer)
    await sweep()
    bench.clock.advance(30 * 24 * 3600)
    await sweep()
    expect(await shown(bench, offer.task_id)).toBeUndefined()
    expect(receiver.ids).toHaveLength(1)
  })
})
