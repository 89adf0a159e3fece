import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import {
  anomalies,
  ask,
  askMany,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  lease,
  only,
  refusal,
} from '../../support/steps.ts'

const idsOf = (tasks: readonly { task_id: string | null }[]) => tasks.map((task) => task.task_id)
const typesOf = (receipts: readonly { receipt_type: string }[]) => receipts.map((one) => one.receipt_type)

describeGates('bootstrap', (open, storeName) => {
  it('bootstrap returns the relationship and everything that needs attention', async () => {
    const { gate, clock } = await open()
    const done = await hold(gate)
    await finish(gate, done, { artifacts: undefined })
    const failed = await hold(gate)
    await failTask(gate, failed)
    const running = await hold(gate)
    await gate.startTask(worker(), held(running))
    const delayed = await ask(gate, { delay_seconds: 60 })
    const queued = await ask(gate)
    await ask(gate, {}, agent('bob'))

    const answer = await gate.bootstrap(agent())
    const now = new Date(clock.now).toISOString()
    expect(answer.server).toMatchObject({ name: 'AsyncGate', instance_id: 'asyncgate-1' })
    expect(answer.relationship).toEqual({
      principal_kind: 'agent',
      principal_id: 'alice',
      first_seen_at: now,
      last_seen_at: now,
      sessions_count: 1,
      agent_instance_id: null,
      agent_version: null,
      client_capabilities: null,
    })
    const { inbox_receipts, assigned_tasks, waiting_results, running_or_scheduled, anomalies } =
      answer.attention
    expect(typesOf(inbox_receipts)).toEqual(['task.result_ready', 'system.anomaly', 'task.result_ready'])
    expect(idsOf(waiting_results)).toEqual([done.task_id, failed.task_id])
    expect(at(waiting_results, 0)).toMatchObject({ status: 'succeeded', result: { result: { n: 1 } } })
    expect(idsOf(assigned_tasks)).toEqual([done.task_id, running.task_id, delayed.task_id, queued.task_id])
    expect(idsOf(running_or_scheduled)).toEqual([running.task_id, delayed.task_id])
    expect(typesOf(anomalies)).toEqual(['system.anomaly'])
    expect(answer.cursor.latest_receipt_id).toBe(at(inbox_receipts, -1).receipt_id)
  })

  it('bootstrap is empty for an unknown principal', async () => {
    const { gate } = await open()
    expect(await gate.bootstrap(agent('unknown'))).toMatchObject({
      relationship: { sessions_count: 1 },
      attention: {
        inbox_receipts: [],
        assigned_tasks: [],
        waiting_results: [],
        running_or_scheduled: [],
        anomalies: [],
      },
      cursor: { latest_receipt_id: null },
    })
    expect(await gate.bootstrap(worker())).toMatchObject({ relationship: { principal_kind: 'worker' } })
  })

  it('bootstrap records the first delivery of a receipt', async () => {
    const { gate, clock } = await open()
    await finish(gate, await hold(gate))
    clock.advance(1)
    const delivered_at = new Date(clock.now).toISOString()
    const first = await gate.bootstrap(agent())
    expect(first.attention.inbox_receipts).toMatchObject([{ delivered_at }])
    clock.advance(60)
    const again = await gate.bootstrap(agent())
    expect(again.attention.inbox_receipts).toEqual(first.attention.inbox_receipts)
    const { receipts } = await gate.listReceipts(agent())
    expect(receipts.map((receipt) => receipt.delivered_at)).toEqual([null, null, null, delivered_at])
  })

  it('a result stays in the inbox until it is acknowledged', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    for (let n = 0; n < 3; n++) {
      const { attention } = await gate.bootstrap(agent())
      expect(idsOf(attention.waiting_results)).toEqual([offer.task_id])
    }
    const { attention } = await gate.bootstrap(agent())
    await gate.ackReceipt(agent(), { receipt_id: only(attention.inbox_receipts).receipt_id })
    const after = await gate.bootstrap(agent())
    expect(after.attention).toMatchObject({ inbox_receipts: [], waiting_results: [] })
  })

  it('bootstrap returns what is newer than the cursor and advances the cursor', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    await finish(gate, first)
    const before = await gate.bootstrap(agent())
    const since_receipt_id = before.cursor.latest_receipt_id
    const empty = await gate.bootstrap(agent(), { since_receipt_id })
    expect(empty.attention.inbox_receipts).toEqual([])
    const second = await hold(gate)
    await finish(gate, second)
    const after = await gate.bootstrap(agent(), { since_receipt_id: empty.cursor.latest_receipt_id })
    expect(idsOf(after.attention.inbox_receipts)).toEqual([second.task_id])
    expect(after.cursor.latest_receipt_id).toBe(only(after.attention.inbox_receipts).receipt_id)
    expect(await refusal(gate.bootstrap(agent(), { since_receipt_id: 'nonsense' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'since_receipt_id' },
    })
  })

  it('following the cursor reaches every result regardless of receipts in between', async () => {
    const { gate } = await open()
    await finish(gate, await hold(gate))
    let since = (await gate.bootstrap(agent())).cursor.latest_receipt_id
    const noisy = await hold(gate)
    for (let percent = 0; percent < 50; percent++) {
      await gate.reportProgress(worker(), { ...held(noisy), progress: { percent } })
    }
    await finish(gate, noisy)
    const quiet = await hold(gate)
    await finish(gate, quiet)
    const found: (string | null)[] = []
    for (let n = 0; n < 10; n++) {
      const { attention, cursor } = await gate.bootstrap(agent(), { since_receipt_id: since, max_items: 1 })
      expect(attention.inbox_receipts.length).toBeLessThanOrEqual(1)
      found.push(...idsOf(attention.inbox_receipts))
      since = cursor.latest_receipt_id
    }
    expect(found).toEqual([noisy.task_id, quiet.task_id])
  })

  it('max_items limits each list to the newest items', async () => {
    const { gate } = await open()
    await askMany(gate, 5)
    const offers = await claim(gate, { max_tasks: 5 })
    for (const offer of offers) await finish(gate, offer)
    await askMany(gate, 5)
    const { attention } = await gate.bootstrap(agent(), { max_items: 2 })
    expect(idsOf(attention.inbox_receipts)).toEqual(idsOf(offers.slice(-2)))
    expect(attention.assigned_tasks).toHaveLength(2)
    expect(await refusal(gate.bootstrap(agent(), { max_items: 201 }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('bootstrap returns escalations but not progress, expiry and retry receipts', async () => {
    const { gate, clock } = await open({ settings: { escalation_enabled: true } })
    const offer = await hold(gate)
    await gate.reportProgress(worker(), { ...held(offer), progress: {} })
    clock.advance(120)
    await gate.sweep()
    clock.advance(5)
    await failTask(gate, await lease(gate), { retryable: true })
    const { attention } = await gate.bootstrap(agent())
    expect(typesOf(attention.inbox_receipts)).toEqual(['task.escalated'])
  })

  it('bootstrap stores instance, version and capabilities of the agent', async () => {
    const { gate, another } = await open()
    const client_capabilities = { streaming: true, tools: ['search'] }
    const said = { agent_instance_id: 'laptop', agent_version: '1.2.3', client_capabilities }
    expect((await gate.bootstrap(agent(), said)).relationship).toMatchObject(said)
    const other = storeName === 'postgres' ? (await another()).gate : gate
    expect((await other.bootstrap(agent())).relationship).toMatchObject(said)
    expect((await other.listOpenObligations(agent())).relationship).toMatchObject(said)
    expect(
      await refusal(gate.bootstrap(agent(), { client_capabilities: { text: 'x'.repeat(20_000) } })),
    ).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  it('alternating instances count as one session each', async () => {
    const { gate } = await open()
    const counts: number[] = []
    for (const agent_instance_id of ['i1', 'i2', 'i1', 'i2']) {
      counts.push((await gate.bootstrap(agent(), { agent_instance_id })).relationship.sessions_count)
    }
    expect(counts).toEqual([1, 2, 2, 2])
  })

  it('repeated calls of one instance count as one session', async () => {
    const { gate, clock } = await open()
    const sessions = async (agent_instance_id?: string) => {
      const { relationship } = await gate.bootstrap(agent(), { agent_instance_id })
      return relationship.sessions_count
    }
    const first_seen_at = new Date(clock.now).toISOString()
    expect(await sessions('one')).toBe(1)
    clock.advance(60)
    for (let n = 0; n < 3; n++) expect(await sessions('one')).toBe(1)
    expect(await sessions()).toBe(1)
    expect(await sessions('two')).toBe(2)
    expect(await sessions('two')).toBe(2)
    clock.advance(31 * 60)
    expect(await sessions('two')).toBe(3)
    const last_seen_at = new Date(clock.now).toISOString()
    expect((await gate.listOpenObligations(agent())).relationship).toMatchObject({
      first_seen_at,
      last_seen_at,
      sessions_count: 3,
    })
    expect((await gate.bootstrap(agent('bob'))).relationship).toMatchObject({ sessions_count: 1 })
  })

  it('bootstrap writes no receipts', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    await gate.bootstrap(agent())
    await gate.bootstrap(agent())
    expect((await gate.listReceipts(admin(), { task_id: offer.task_id })).receipts).toHaveLength(4)
    expect(await anomalies(gate, offer)).toEqual([])
  })
})
