import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { ask, at, failTask, finish, hold, receiptsOf, refusal } from '../../support/steps.ts'

describeGates('ack_receipt', (open) => {
  it('a repeated ack_receipt writes one receipt', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    const ready = at(await receiptsOf(gate, offer), -1)
    const answer = await gate.ackReceipt(agent(), { receipt_id: ready.receipt_id })
    expect(answer).toEqual({ ok: true, receipt_id: expect.any(String) })
    expect(await gate.ackReceipt(agent(), { receipt_id: ready.receipt_id })).toEqual(answer)
    const again = await Promise.all(
      Array.from({ length: 10 }, () => gate.ackReceipt(agent(), { receipt_id: ready.receipt_id })),
    )
    for (const one of again) expect(one).toEqual(answer)
    const receipts = await receiptsOf(gate, offer)
    expect(receipts).toHaveLength(5)
    expect(at(receipts, -1)).toMatchObject({
      receipt_id: answer.receipt_id,
      receipt_type: 'receipt.acknowledged',
      from: { kind: 'agent', id: 'alice' },
      to: { kind: 'service', id: 'asyncgate' },
      parents: [ready.receipt_id],
      body: { acknowledged_receipt_id: ready.receipt_id },
    })
  })

  it('concurrent first acknowledgements write one receipt', async () => {
    const { gate } = await open()
    const { receipt_id } = await ask(gate)
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => gate.ackReceipt(agent(), { receipt_id })),
    )
    expect(new Set(answers.map((answer) => answer.receipt_id)).size).toBe(1)
  })

  it('only the addressee may acknowledge a receipt that is in no inbox', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { principal_ai: 'bob' })
    const { receipt_id } = await failTask(gate, offer)
    for (const by of [agent('bob'), worker()]) {
      expect(await refusal(gate.ackReceipt(by, { receipt_id }))).toMatchObject({
        code: 'FORBIDDEN',
        details: { your_role: by.role },
      })
    }
    expect(await receiptsOf(gate, offer)).toHaveLength(4)
    expect(await gate.ackReceipt(agent(), { receipt_id })).toMatchObject({ ok: true })
  })

  it('the agent for which a task is done may acknowledge receipts in its inbox', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { principal_ai: 'bob' })
    await finish(gate, offer)
    const { receipt_id } = at((await gate.listInbox(agent('bob'))).items, 0)
    const marked = await gate.markInbox(agent('bob'), { as: 'read', receipt_ids: [receipt_id] })
    expect(marked.items).toMatchObject([{ receipt_id }])
    const answer = await gate.ackReceipt(agent('bob'), { receipt_id })
    expect(await gate.ackReceipt(agent('bob'), { receipt_id })).toEqual(answer)
    expect((await gate.listInbox(agent('bob'))).items).toEqual([])
    // The owner has a separate inbox.
    expect((await gate.listInbox(agent())).items).toMatchObject([{ receipt_id }])
    expect(await refusal(gate.ackReceipt(agent('carol'), { receipt_id }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    const acknowledged = (await receiptsOf(gate, offer)).filter(
      (each) => each.receipt_type === 'receipt.acknowledged',
    )
    expect(acknowledged).toMatchObject([
      { receipt_id: answer.receipt_id, from: { kind: 'agent', id: 'bob' } },
    ])
  })

  it('ack_receipt rejects unknown and malformed ids and receipts of other tenants', async () => {
    const { gate } = await open()
    const mine = await ask(gate)
    const theirs = await ask(gate, {}, agent('alice', 'other'))
    const later = mine.receipt_id.replace(/^.{18}/, '00000000-0000-8fff')
    for (const receipt_id of [theirs.receipt_id, later, 'nonsense', mine.task_id]) {
      expect(await refusal(gate.ackReceipt(agent(), { receipt_id }))).toMatchObject({
        code: 'RECEIPT_NOT_FOUND',
        details: { receipt_id },
      })
    }
  })

  it('an acknowledgement closes no obligation', async () => {
    const { gate } = await open()
    const { receipt_id } = await ask(gate)
    await gate.ackReceipt(agent(), { receipt_id })
    expect((await gate.listOpenObligations(agent())).open_obligations).toHaveLength(1)
    expect(await gate.checkTerminator(admin(), { receipt_id })).toEqual({ has_terminator: false })
  })
})
