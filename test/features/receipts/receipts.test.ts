import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import {
  ARTIFACTS,
  ask,
  askMany,
  at,
  claim,
  failTask,
  finish,
  held,
  hold,
  receiptsOf,
  refusal,
} from '../../support/steps.ts'

describeGates('list_receipts', (open) => {
  it('pages list each receipt addressed to the caller once, oldest first', async () => {
    const { gate } = await open()
    await askMany(gate, 25)
    await ask(gate, {}, agent('bob'))
    for (const offer of await claim(gate, { max_tasks: 10 })) {
      if (offer.principal_ai === 'alice') await finish(gate, offer)
    }
    const whole = await gate.listReceipts(agent(), { limit: 200 })
    expect(whole.next_cursor).toBeNull()
    const seqs = whole.receipts.map((receipt) => receipt.seq)
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b))
    expect(whole.receipts.every((receipt) => receipt.to.id === 'alice')).toBe(true)

    const paged = []
    for (let since: string | null | undefined; since !== null; ) {
      const page = await gate.listReceipts(agent(), { limit: 7, ...(since && { since_receipt_id: since }) })
      expect(page.receipts.length).toBeLessThanOrEqual(7)
      paged.push(...page.receipts)
      since = page.next_cursor
    }
    expect(paged).toEqual(whole.receipts)
  })

  it('list_receipts filters by task and type', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const { task_id } = await ask(gate)
    await finish(gate, offer)
    const types = async (filter: object) =>
      (await gate.listReceipts(agent(), filter)).receipts.map((receipt) => receipt.receipt_type)
    expect(await types({ task_id })).toEqual(['task.assigned'])
    expect(await types({ receipt_type: 'task.assigned' })).toEqual(['task.assigned', 'task.assigned'])
    expect(await types({ task_id: offer.task_id, receipt_type: 'task.completed' })).toEqual([
      'task.completed',
    ])
    expect(await types({ receipt_type: 'task.failed' })).toEqual([])
    expect(await refusal(gate.listReceipts(agent(), { receipt_type: 'task.done' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'receipt_type' },
    })
  })

  it('a reserved receipt type matches nothing and an unknown type is rejected', async () => {
    const { gate } = await open()
    await ask(gate)
    const reserved = { receipt_type: 'task.transferred' }
    expect(await gate.listReceipts(agent(), reserved)).toEqual({ receipts: [], next_cursor: null })
    expect(await gate.listReceiptsLedger(admin(), reserved)).toEqual({ receipts: [], next_cursor: null })
    expect(await refusal(gate.listReceipts(agent(), { receipt_type: 'task.moved' }))).toMatchObject({
      details: { path: 'receipt_type' },
    })
  })

  it('since_receipt_id accepts any receipt of the tenant and nothing else', async () => {
    const { gate } = await open()
    const first = await ask(gate)
    const second = await ask(gate)
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    const after = await gate.listReceipts(agent(), { since_receipt_id: first.receipt_id })
    expect(after.receipts.map((receipt) => receipt.receipt_id)).toEqual([second.receipt_id])
    for (const since_receipt_id of [theirs.receipt_id, first.task_id, 'nonsense']) {
      expect(await refusal(gate.listReceipts(agent(), { since_receipt_id }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'since_receipt_id' },
      })
    }
  })

  it('the receipts of a tenant are numbered without gaps', async () => {
    const { gate } = await open()
    await Promise.all(Array.from({ length: 30 }, () => ask(gate)))
    const offers = await claim(gate, { max_tasks: 30 })
    await Promise.all(offers.map((offer, n) => (n % 3 === 0 ? failTask(gate, offer) : finish(gate, offer))))
    await Promise.all(offers.map((offer) => refusal(gate.renewLease(worker(), held(offer)))))
    const { receipts } = await gate.listReceipts(admin(), { to_id: 'alice', limit: 200 })
    expect(receipts.map((receipt) => receipt.seq)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1))
  })
})

describeGates('list_receipts of all addressees', (open) => {
  it('admins see the receipts of all addressees with all, newest first, and agents do not', async () => {
    const { gate } = await open()
    const first = await ask(gate)
    const second = await ask(gate, {}, agent('bob'))
    const { receipts } = await gate.listReceipts(admin(), { all: true, order: 'newest' })
    expect(receipts.map(({ receipt_id }) => receipt_id)).toEqual([second.receipt_id, first.receipt_id])
    const ofBob = await gate.listReceipts(admin(), { all: true, to_id: 'bob' })
    expect(ofBob.receipts.map(({ receipt_id }) => receipt_id)).toEqual([second.receipt_id])
    expect((await gate.listReceipts(admin(), {})).receipts).toEqual([])
    expect(await refusal(gate.listReceipts(agent(), { all: true }))).toMatchObject({ code: 'FORBIDDEN' })
  })
})

describeGates('get_receipt', (open) => {
  it('get_receipt returns what list_receipts returns, and the receipts that follow from it', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate)
    const { children, ...receipt } = await gate.getReceipt(agent(), { receipt_id: task.receipt_id })
    expect(children).toEqual([])
    expect(receipt).toEqual({
      receipt_id: task.receipt_id,
      seq: 1,
      receipt_type: 'task.assigned',
      created_at: new Date(clock.now).toISOString(),
      tenant_id: 'default',
      from: { kind: 'service', id: 'asyncgate' },
      to: { kind: 'agent', id: 'alice' },
      task_id: task.task_id,
      lease_id: null,
      schedule_id: null,
      parents: [],
      body: expect.any(Object),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      asyncgate_instance: 'asyncgate-1',
      delivered_at: null,
    })
    expect((await gate.listReceipts(agent())).receipts).toEqual([receipt])
    const [offer] = await claim(gate)
    if (offer === undefined) throw new Error('no task was offered')
    const { receipt_id } = await finish(gate, offer)
    const { children: later } = await gate.getReceipt(agent(), { receipt_id: task.receipt_id })
    expect(later).toContainEqual({ receipt_id, receipt_type: 'task.completed', task_id: task.task_id })
  })

  it('a receipt never changes', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    const before = await receiptsOf(gate, offer)
    clock.advance(10)
    await gate.reportProgress(worker(), { ...held(offer), progress: {} })
    await finish(gate, offer)
    expect((await receiptsOf(gate, offer)).slice(0, 2)).toEqual(before)
  })

  it('receipts of one task have distinct hashes', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    await failTask(gate, offer, { retryable: true, retry_after_seconds: 0 })
    const [again] = await claim(gate)
    clock.advance(1)
    await failTask(gate, again ?? offer, { error: { message: 'other' } })
    const hashes = (await receiptsOf(gate, offer)).map((receipt) => receipt.hash)
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})

describeGates('check_terminator', (open) => {
  it('check_terminator returns the receipt that closed an obligation', async () => {
    const { gate } = await open()
    const endings = [
      ['task.completed', (offer: Awaited<ReturnType<typeof hold>>) => finish(gate, offer)],
      ['task.failed', (offer: Awaited<ReturnType<typeof hold>>) => failTask(gate, offer)],
      ['task.canceled', ({ task_id }: { task_id: string }) => gate.cancelTask(agent(), { task_id })],
    ] as const
    for (const [receipt_type, end] of endings) {
      const offer = await hold(gate)
      const { receipt_id } = at(await receiptsOf(gate, offer), 0)
      expect(await gate.checkTerminator(agent(), { receipt_id })).toEqual({ has_terminator: false })
      await end(offer)
      expect(await gate.checkTerminator(agent(), { receipt_id })).toMatchObject({
        has_terminator: true,
        terminator: { receipt_type, task_id: offer.task_id, parents: [receipt_id] },
      })
    }
  })

  it('only a child with a terminal type closes an obligation', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await gate.startTask(worker(), held(offer))
    await gate.reportProgress(worker(), { ...held(offer), progress: {} })
    const [assigned] = await receiptsOf(gate, offer)
    if (!assigned) return expect.unreachable()
    await gate.ackReceipt(agent(), { receipt_id: assigned.receipt_id })
    expect(await gate.checkTerminator(agent(), { receipt_id: assigned.receipt_id })).toEqual({
      has_terminator: false,
    })
    const { receipt_id } = await finish(gate, offer)
    // The canceled follow-up task adds a terminal receipt below a receipt that creates no obligation.
    const next = await ask(gate, { caused_by_receipt_id: receipt_id })
    await gate.cancelTask(agent(), { task_id: next.task_id })
    expect(await gate.checkTerminator(agent(), { receipt_id })).toEqual({ has_terminator: false })
  })

  it('the terminator is the completion with evidence, not the earlier one without', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer, { artifacts: undefined })
    const repaired = await finish(gate, offer, { artifacts: ARTIFACTS })
    const { receipt_id } = at(await receiptsOf(gate, offer), 0)
    expect(await gate.checkTerminator(agent(), { receipt_id })).toMatchObject({
      has_terminator: true,
      terminator: { receipt_id: repaired.receipt_id },
    })
  })
})
