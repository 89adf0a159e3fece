import { expect, it } from 'vitest'
import { openGate } from '../../src/features/gate.ts'
import { ApprovalWebhook } from '../../src/webhooks/approval-webhook.ts'
import { postTo } from '../../src/webhooks/post.ts'
import { MAX_ATTEMPTS } from '../../src/webhooks/retry-policy.ts'
import { admin, agent, type Bench, describeGates, worker } from '../support/gates.ts'
import { held, hold, soon } from '../support/steps.ts'
import { SECRET, startReceiver } from './receiver.ts'

let types = 0

/** A task that a worker has parked until a person approves it. */
async function askApproval({ gate }: Bench, title = 'Send it?') {
  // A separate type, because approved tasks are queued.
  types += 1
  const type = `job-${types}`
  const offer = await hold(gate, { type, payload: { to: 'ann' } }, { accept_types: [type] })
  const request = { title, show: { lines: 3 } }
  await gate.ask(worker(), { ...held(offer), kind: 'approval', request })
  return offer.task_id
}

type Line = [message: string, fields: Readonly<Record<string, unknown>>]

async function webhookOn({ gate, store }: Bench, url: string, now?: () => number) {
  const lines: Line[] = []
  const note = (fields: object, message: string) => lines.push([message, { ...fields }])
  const webhook = new ApprovalWebhook({
    gate,
    store,
    tenant: await store.tenant('default'),
    post: postTo({ url, secret: SECRET }),
    log: { warn: note, error: note },
    intervalMs: 3_600_000,
    ...(now && { now }),
  })
  return { webhook, lines, sweep: () => webhook.sweep(new AbortController().signal) }
}

describeGates('the approval webhook', (open) => {
  it('the webhook sends a signed event for the request and for the decision', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const { webhook, lines } = await webhookOn(bench, receiver.url)
    webhook.start()
    const task_id = await askApproval(bench)
    await soon(receiver.until(1))
    expect(receiver.taken).toMatchObject([
      {
        id: `${task_id}.1.asked`,
        type: 'approval.asked',
        data: {
          task_id,
          n: 1,
          state: 'open',
          request: { title: 'Send it?', show: { lines: 3 } },
          asked_by: { kind: 'worker', id: 'w1' },
          task: { payload: { to: 'ann' }, owner: { kind: 'agent', id: 'alice' } },
          links: { approve: `/v1/approvals/${task_id}/approve`, deny: `/v1/approvals/${task_id}/deny` },
        },
      },
    ])
    await bench.gate.approve(admin(), { task_id, comment: 'fine' })
    const [, decided] = await soon(receiver.until(2))
    expect(decided).toMatchObject({
      id: `${task_id}.1.decided`,
      type: 'approval.decided',
      data: { state: 'approved', decided_by: { kind: 'human', id: 'root' }, answer: { comment: 'fine' } },
    })
    await webhook.stop()
    expect(lines).toEqual([])
    expect(receiver.refused).toEqual([])
  })

  it('a task that another process has decided is no longer watched', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const { webhook, sweep } = await webhookOn(bench, receiver.url)
    const decided = await askApproval(bench)
    webhook.start()
    const task_ids = [await askApproval(bench), await askApproval(bench)]
    await soon(receiver.until(3))
    expect(webhook.watched).toBe(2)
    // The gate of another process commits without notifying the listeners of this one.
    const other = openGate({ store: bench.store, sweeping: false })
    for (const task_id of [decided, task_ids[0]]) await other.deny(admin(), { task_id, reason: 'no' })
    await sweep()
    expect(webhook.watched).toBe(1)
    await bench.gate.deny(admin(), { task_id: task_ids[1], reason: 'no' })
    await soon(receiver.until(6))
    expect(webhook.watched).toBe(0)
    await webhook.stop()
  })

  it('denied, expired and withdrawn approvals are announced', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const { sweep } = await webhookOn(bench, receiver.url)
    const denied = await askApproval(bench)
    await bench.gate.deny(admin(), { task_id: denied, reason: 'no' })
    const offer = await hold(bench.gate)
    await bench.gate.ask(worker(), {
      ...held(offer),
      kind: 'approval',
      request: { title: 'Soon?' },
      expires_in_seconds: 60,
    })
    const withdrawn = await askApproval(bench)
    await sweep()
    bench.clock.advance(61)
    await bench.gate.sweep()
    await bench.gate.cancelTask(agent(), { task_id: withdrawn })
    await sweep()
    const decided = receiver.taken.filter(({ type }) => type === 'approval.decided')
    expect(decided.map(({ data }) => [data.task_id, data.state])).toEqual([
      [offer.task_id, 'expired'],
      [withdrawn, 'withdrawn'],
    ])
  })

  it('no event is sent twice, and no entries remain', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const { sweep } = await webhookOn(bench, receiver.url)
    await sweep()
    const task_id = await askApproval(bench)
    for (let i = 0; i < 3; i++) await sweep()
    expect(receiver.taken.map(({ type }) => type)).toEqual(['approval.asked'])
    await bench.gate.approve(admin(), { task_id })
    for (let i = 0; i < 3; i++) await sweep()
    expect(receiver.taken.map(({ type }) => type)).toEqual(['approval.asked', 'approval.decided'])
    const { tenant } = await bench.store.tenant('default')
    expect(await bench.store.entries.list(tenant, 'approval_webhook', '', 10)).toEqual([])
  })

  it('events that occurred while no process was running are sent', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    // At the first start, open approvals are announced and decided ones are not.
    const old = await askApproval(bench)
    await bench.gate.approve(admin(), { task_id: old })
    const waiting = await askApproval(bench, 'Still?')
    await (await webhookOn(bench, receiver.url)).sweep()
    expect(receiver.taken.map(({ id }) => id)).toEqual([`${waiting}.1.asked`])
    await bench.gate.approve(admin(), { task_id: waiting })
    const missed = await askApproval(bench, 'Missed?')
    await bench.gate.deny(admin(), { task_id: missed, reason: 'no' })
    await bench.gate.close()
    const next = await bench.another()
    await (await webhookOn(next, receiver.url)).sweep()
    expect(receiver.taken.slice(1).map(({ id }) => id)).toEqual([
      `${waiting}.1.decided`,
      `${missed}.1.asked`,
      `${missed}.1.decided`,
    ])
  })

  it('a refused event is retried with growing delays', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    let now = Date.now()
    const { sweep, lines } = await webhookOn(bench, receiver.url, () => now)
    const task_id = await askApproval(bench)
    await bench.gate.approve(admin(), { task_id })
    await sweep()
    const second = await askApproval(bench, 'Another?')
    receiver.status = 500
    for (const [seconds, tries] of [
      [0, 1],
      [4, 1],
      [1, 2],
      [9, 2],
      [1, 3],
    ] as const) {
      now += seconds * 1000
      await sweep()
      expect([seconds, receiver.refused.length]).toEqual([seconds, tries])
    }
    expect(lines.map(([message, { reason }]) => [message, reason])).toEqual(
      Array(3).fill(['an approval webhook was not accepted; trying again', 'it responded with 500']),
    )
    receiver.status = 200
    now += 20_000
    await sweep()
    expect(receiver.taken.map(({ id }) => id)).toContain(`${second}.1.asked`)
  })

  it('an event is given up after many attempts with a log entry, and the decision is still sent', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    let now = Date.now()
    const { sweep, lines } = await webhookOn(bench, receiver.url, () => now)
    const task_id = await askApproval(bench)
    receiver.status = 410
    for (let i = 0; i < MAX_ATTEMPTS + 5; i++) {
      await sweep()
      now += 3_600_000
    }
    expect(receiver.refused).toHaveLength(MAX_ATTEMPTS)
    expect(lines.at(-1)).toEqual([
      'an approval webhook is dropped',
      {
        tenant: 'default',
        task_id,
        n: 1,
        event: 'asked',
        attempts: MAX_ATTEMPTS,
        reason: 'it responded with 410',
      },
    ])
    receiver.status = 200
    await bench.gate.approve(admin(), { task_id })
    await sweep()
    expect(receiver.taken.map(({ id }) => id)).toEqual([`${task_id}.1.decided`])
  })

  it('only one of several processes sends an event', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const webhooks = await Promise.all([1, 2, 3].map(() => webhookOn(bench, receiver.url)))
    const all = () => Promise.all(webhooks.map(({ sweep }) => sweep()))
    await all()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await askApproval(bench))
    await all()
    await all()
    for (const task_id of ids) await bench.gate.approve(admin(), { task_id })
    await all()
    await all()
    const expected = ids.flatMap((id) => [`${id}.1.asked`, `${id}.1.decided`])
    expect(receiver.taken.map(({ id }) => id).sort()).toEqual(expected.sort())
  })

  it('an event that was interrupted by a stop is sent at the next start', async () => {
    const bench = await open()
    const receiver = await startReceiver()
    const task_id = await askApproval(bench)
    const { sweep } = await webhookOn(bench, receiver.url)
    const stopping = new AbortController()
    const cut = new ApprovalWebhook({
      gate: bench.gate,
      store: bench.store,
      tenant: await bench.store.tenant('default'),
      post: async (_, signal) => {
        stopping.abort()
        signal.throwIfAborted()
      },
      log: { warn: () => {}, error: () => {} },
    })
    await cut.sweep(stopping.signal)
    await sweep()
    expect(receiver.taken.map(({ id }) => id)).toEqual([`${task_id}.1.asked`])
  })
})
