import { expect, it } from 'vitest'
import { admin, agent, type Bench, describeGates, type Open, worker } from '../support/gates.ts'
import { type ReceiptGate, startReceiptGate } from '../support/receiptgate.ts'
import {
  ARTIFACTS,
  ask,
  claim,
  failTask,
  finish,
  held,
  hold,
  lease,
  look,
  refusal,
  statusOf,
} from '../support/steps.ts'
import { confirmingOn, expectAgreement } from './sending.ts'

const outbox = async ({ store }: Pick<Bench, 'store'>) => {
  const { tenant } = await store.tenant('default')
  return store.outbox.counts(tenant, 1000)
}

async function strict(open: Open, profile: '1.0' | '1.1' = '1.0') {
  const bench = await open()
  const remote = await startReceiptGate(profile)
  return { bench, gate: bench.gate, remote, ...(await confirmingOn(bench, remote, { profile })) }
}

/** The phases of a task that ReceiptGate has at this moment. */
const phases = (remote: ReceiptGate, { task_id }: { readonly task_id: string }) => remote.phasesOf(task_id)

describeGates('strict consistency', (open) => {
  it.each(['1.0', '1.1'] as const)(
    'profile %s: ReceiptGate has the receipts of an operation when it responds',
    async (profile) => {
      const { bench, gate, remote } = await strict(open, profile)
      const completed = await hold(gate)
      expect(phases(remote, completed)).toEqual(['accepted'])
      await finish(gate, completed)
      expect(phases(remote, completed)).toEqual(['accepted', 'complete'])
      const failed = await hold(gate)
      await failTask(gate, failed)
      expect(phases(remote, failed)).toEqual(['accepted', 'complete'])
      const canceled = await hold(gate)
      await gate.cancelTask(agent(), { task_id: canceled.task_id })
      expect(phases(remote, canceled)).toEqual(['accepted', 'complete'])
      const denied = await hold(gate)
      const request = { title: 'Go on?' }
      const { n } = await gate.ask(worker(), { ...held(denied), kind: 'approval', request })
      await gate.deny(admin(), { task_id: denied.task_id, n, reason: 'no' })
      expect(phases(remote, denied)).toEqual(['accepted', 'complete'])
      expect(await outbox(bench)).toEqual({ pending: 0, set_aside: 0 })
      await expectAgreement(bench, remote, { profile, tenantId: 'default' })
    },
  )

  it('a result is stored although ReceiptGate is down, and repeating the request succeeds once it is back', async () => {
    const { bench, gate, remote } = await strict(open)
    const offer = await hold(gate)
    const other = await hold(gate)
    await remote.stop()
    const refused = {
      code: 'LEDGER_UNAVAILABLE',
      retryable: true,
      details: { committed: true, task_id: offer.task_id, retry_after_seconds: 1 },
    }
    expect(await refusal(finish(gate, offer))).toMatchObject(refused)
    expect(await refusal(finish(gate, offer))).toMatchObject(refused)
    expect(await statusOf(gate, offer)).toBe('succeeded')
    const cancel = () => gate.cancelTask(agent(), { task_id: other.task_id })
    expect(await refusal(cancel())).toMatchObject({ details: { committed: true } })
    expect(await statusOf(gate, other)).toBe('canceled')
    await remote.start()
    expect(await finish(gate, offer)).toMatchObject({ ok: true, obligation_open: false })
    expect(await cancel()).toMatchObject({ status: 'canceled' })
    expect(phases(remote, offer)).toEqual(['accepted', 'complete'])
    expect(phases(remote, other)).toEqual(['accepted', 'complete'])
    await expectAgreement(bench, remote)
  })

  it('requests fail at once while the circuit breaker is open, and claims change nothing', async () => {
    const { bench, gate, remote } = await strict(open)
    const offer = await hold(gate)
    await ask(gate)
    await remote.stop()
    for (let n = 0; n < 5; n++) await refusal(finish(gate, offer))
    const receipts = (await gate.listReceipts(admin(), { limit: 200 })).receipts.length
    expect(await refusal(claim(gate))).toMatchObject({
      code: 'LEDGER_UNAVAILABLE',
      details: { committed: false, retry_after_seconds: 60 },
    })
    expect(await refusal(finish(gate, offer))).toMatchObject({ details: { retry_after_seconds: 60 } })
    expect((await gate.listReceipts(admin(), { limit: 200 })).receipts).toHaveLength(receipts)
    await remote.start()
    bench.clock.advance(60)
    await finish(gate, offer)
    expect(await claim(gate)).toHaveLength(1)
    await expectAgreement(bench, remote)
  })

  it('many operations at once are confirmed while the background sender runs, and each receipt is sent once', async () => {
    const { bench, gate, remote, sweep } = await strict(open)
    for (let n = 0; n < 30; n++) await ask(gate)
    const sweeps: Promise<void>[] = []
    const swept = <T>(call: Promise<T>) => {
      sweeps.push(sweep())
      return call
    }
    const offers = (await Promise.all([1, 2, 3].map(() => swept(claim(gate, { max_tasks: 10 }))))).flat()
    expect(offers).toHaveLength(30)
    await Promise.all(offers.map((offer) => swept(finish(gate, offer))))
    await Promise.all(sweeps)
    expect(remote.stored).toHaveLength(60)
    expect(remote.submissions.map(({ outcome }) => outcome)).toEqual(Array(60).fill('stored'))
    await expectAgreement(bench, remote)
  })

  it('operations of other tenants do not wait', async () => {
    const { gate, remote } = await strict(open)
    await remote.stop()
    const w1 = worker('w1', 'acme')
    await gate.createTask(agent('bob', 'acme'), { type: 'job' })
    const offer = await lease(gate, {}, w1)
    expect(await gate.complete(w1, { ...held(offer), result: 1, artifacts: ARTIFACTS })).toMatchObject({
      ok: true,
    })
  })
})

describeGates(
  'strict consistency and faults',
  (open) => {
    it('an operation waits for a bounded time only', async () => {
      const bench = await open()
      const remote = await startReceiptGate()
      await confirmingOn(bench, remote, { waitMs: 100, timeoutMs: 300 })
      const offer = await hold(bench.gate)
      remote.standing = { kind: 'delay', ms: 3_000 }
      const started = performance.now()
      const refused = await Promise.all(Array.from({ length: 20 }, () => refusal(finish(bench.gate, offer))))
      expect(performance.now() - started).toBeLessThan(2_500)
      expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['LEDGER_UNAVAILABLE']))
    })

    it.each([
      ['stores the receipt and drops the connection', { kind: 'drop_after_storing' }],
      ['stores the receipt and reports an error', { kind: 'error_after_storing' }],
      ['responds with 503', { kind: 'status', status: 503 }],
    ] as const)('repeating a request is safe if ReceiptGate %s', async (_, fault) => {
      const { bench, gate, remote } = await strict(open)
      const offer = await hold(gate)
      remote.faults = [fault]
      expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'LEDGER_UNAVAILABLE' })
      expect(await finish(gate, offer)).toMatchObject({ ok: true })
      expect(phases(remote, offer)).toEqual(['accepted', 'complete'])
      await expectAgreement(bench, remote)
    })

    it('the pause that ReceiptGate asks for is passed on to the caller', async () => {
      const { bench, gate, remote } = await strict(open)
      const offer = await hold(gate)
      remote.faults = [{ kind: 'status', status: 429, retryAfter: 7 }]
      expect(await refusal(finish(gate, offer))).toMatchObject({ details: { retry_after_seconds: 7 } })
      bench.clock.advance(7)
      expect(await finish(gate, offer)).toMatchObject({ ok: true })
    })

    it('a receipt that ReceiptGate refuses is not retryable until an operator has repaired it', async () => {
      const { bench, gate, remote } = await strict(open)
      const offer = await hold(gate)
      remote.faults = [{ kind: 'error', code: 'validation_failed' }]
      const refused = { code: 'LEDGER_REFUSED', retryable: false, details: { committed: true } }
      expect(await refusal(finish(gate, offer))).toMatchObject(refused)
      expect(await refusal(finish(gate, offer))).toMatchObject(refused)
      const { tenant } = await bench.store.tenant('default')
      await bench.store.outbox.requeue(tenant, false)
      expect(await finish(gate, offer)).toMatchObject({ ok: true })
      await expectAgreement(bench, remote)
    })

    it('operations that wait when the server stops are refused, and the next server sends their receipts', async () => {
      const { bench, gate, remote, sender } = await strict(open)
      const offer = await hold(gate)
      remote.faults = [{ kind: 'hang_after_storing' }]
      const waiting = refusal(finish(gate, offer))
      while (remote.stored.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
      await sender.stop()
      expect(await waiting).toMatchObject({ code: 'LEDGER_UNAVAILABLE', details: { committed: true } })
      const next = await confirmingOn(bench, remote)
      await next.sweep()
      expect(await finish(gate, offer)).toMatchObject({ ok: true })
      await expectAgreement(bench, remote)
    })

    it('with forwarded assignments a task is created once, however often its request is repeated', async () => {
      const bench = await open()
      const remote = await startReceiptGate()
      await confirmingOn(bench, remote, { forwardsAssigned: true })
      await remote.stop()
      const create = () => ask(bench.gate, { idempotency_key: 'one' })
      const { details } = await refusal(create())
      expect(details).toMatchObject({ committed: true })
      await remote.start()
      const created = await create()
      expect(details).toMatchObject({ task_id: created.task_id })
      expect(phases(remote, created)).toEqual(['accepted'])
      await finish(bench.gate, await lease(bench.gate))
      expect(remote.stored).toMatchObject([
        { phase: 'accepted', for_principal: 'asyncgate', recipient_ai: 'alice' },
        { phase: 'accepted', for_principal: 'w1' },
        { phase: 'complete' },
      ])
      await expectAgreement(bench, remote, { profile: '1.0', tenantId: 'default', forwardsAssigned: true })
    })
  },
  ['sqlite'],
)

describeGates('synchronous acceptance', (open) => {
  const sync = async () => {
    const bench = await open()
    const remote = await startReceiptGate()
    return { bench, gate: bench.gate, remote, ...(await confirmingOn(bench, remote, { isStrict: false })) }
  }

  it('a claim returns a task once ReceiptGate has accepted it; other operations do not wait', async () => {
    const { bench, gate, remote, sweep } = await sync()
    const offer = await hold(gate)
    expect(phases(remote, offer)).toEqual(['accepted'])
    await remote.stop()
    expect(await finish(gate, offer)).toMatchObject({ ok: true })
    await remote.start()
    await sweep()
    expect(phases(remote, offer)).toEqual(['accepted', 'complete'])
    await expectAgreement(bench, remote)
  })

  it('a claim that ReceiptGate does not accept is released and uses no attempt', async () => {
    const { gate, remote } = await sync()
    const { task_id } = await ask(gate)
    await remote.stop()
    expect(await refusal(claim(gate))).toMatchObject({
      code: 'LEDGER_UNAVAILABLE',
      details: { committed: false, task_id },
    })
    expect(await look(gate, { task_id })).toMatchObject({
      ...{ status: 'queued', attempt: 0, expiry_count: 0, next_eligible_at: null },
    })
    await remote.start()
    const offer = await lease(gate, {}, worker('w2'))
    expect(offer).toMatchObject({ task_id, attempt: 0 })
    expect(phases(remote, offer)).toEqual(['accepted'])
    await gate.complete(worker('w2'), { ...held(offer, 'w2'), result: 1, artifacts: ARTIFACTS })
  })

  it('a task whose receipt is refused is set aside and does not keep workers from other tasks', async () => {
    const { gate, remote } = await sync()
    const refused = await ask(gate)
    const other = await ask(gate)
    remote.faults = [{ kind: 'error', code: 'validation_failed' }]
    expect(await claim(gate)).toEqual([])
    expect((await lease(gate)).task_id).toBe(other.task_id)
    expect(await look(gate, refused)).toMatchObject({ status: 'queued', attempt: 0 })
  })

  it('of several claimed tasks those that were accepted are returned', async () => {
    const { gate, remote } = await sync()
    for (let n = 0; n < 3; n++) await ask(gate)
    remote.faults = [{ kind: 'error', code: 'receiptgate_error' }]
    const offers = await claim(gate, { max_tasks: 3 })
    expect(offers).toHaveLength(2)
    for (const offer of offers) expect(phases(remote, offer)).toEqual(['accepted'])
    expect(await claim(gate)).toHaveLength(1)
  })
})

// An SQLite database has one server only.
describeGates(
  'strict consistency on two servers',
  (open) => {
    it('a server confirms its own operations, also while another one sends in the background', async () => {
      const { bench, gate, remote, sweep } = await strict(open)
      const second = await bench.another()
      await confirmingOn(second, remote, { holder: 'b' })
      const offer = await hold(gate)
      remote.standing = { kind: 'delay', ms: 20 }
      for (let n = 0; n < 5; n++) await ask(gate)
      const background = sweep()
      await finish(second.gate, offer)
      expect(phases(remote, offer)).toEqual(['accepted', 'complete'])
      const offers = await claim(second.gate, { max_tasks: 5 })
      await Promise.all(offers.map((one, i) => finish(i % 2 === 0 ? gate : second.gate, one)))
      await background
      expect(remote.stored).toHaveLength(12)
      await expectAgreement(bench, remote)
    })
  },
  ['postgres'],
)
