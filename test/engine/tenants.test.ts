import { expect, it } from 'vitest'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import {
  ask,
  askMany,
  at,
  claim,
  finish,
  held,
  lease,
  only,
  openTasks,
  refusal,
  refusals,
} from '../support/steps.ts'

const ours = agent('alice', 'ours')
const theirs = agent('alice', 'theirs')

describeGates('tenants', (open) => {
  it('tenants share nothing although agents, keys, task sessions and types have the same names', async () => {
    const { gate } = await open()
    const input = { idempotency_key: 'k', session_id: 's', labels: { a: 'b' } }
    const mine = await ask(gate, { ...input, payload: 'ours' }, ours)
    const other = await ask(gate, { ...input, payload: 'theirs' }, theirs)
    expect(other).toMatchObject({ is_duplicate: false })
    for (const [by, task, payload] of [
      [ours, mine, 'ours'],
      [theirs, other, 'theirs'],
    ] as const) {
      const found = await gate.listTasks(by, { session_id: 's', labels: { a: 'b' } })
      expect(only(found.tasks)).toMatchObject({ task_id: task.task_id, payload })
      expect(await openTasks(gate, by)).toEqual([task.task_id])
      const { receipts } = await gate.listReceipts(by)
      expect(only(receipts)).toMatchObject({ seq: 1, tenant_id: by.tenant, receipt_id: task.receipt_id })
    }
    expect(mine.receipt_id).not.toBe(other.receipt_id)
    expect((await gate.listTasks(admin('ours'))).tasks).toHaveLength(1)
    expect((await gate.listTasks(admin('third'))).tasks).toEqual([])
  })

  it('each tenant numbers its own receipts, also within one batch', async () => {
    const { gate } = await open()
    await Promise.all(Array.from({ length: 40 }, (_, n) => ask(gate, {}, n % 4 === 0 ? ours : theirs)))
    const seqs = async (by: typeof ours) =>
      (await gate.listReceipts(by, { limit: 200 })).receipts.map((receipt) => receipt.seq)
    expect(await seqs(ours)).toEqual(Array.from({ length: 10 }, (_, n) => n + 1))
    expect(await seqs(theirs)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
  })

  it('workers receive only tasks of their own tenant, also within one batch', async () => {
    const { gate } = await open()
    const mine = await askMany(gate, 5, {}, ours)
    const other = await askMany(gate, 5, {}, theirs)
    const claims = await Promise.all(
      ['ours', 'theirs', 'third'].map((tenant) => claim(gate, { max_tasks: 100 }, worker('w1', tenant))),
    )
    const ids = claims.map((tasks) => tasks.map((task) => task.task_id))
    expect(ids).toEqual([mine, other, []])
  })

  it('leases, tasks and receipts of another tenant are not found by their ids', async () => {
    const { gate } = await open()
    const { task_id, receipt_id } = await ask(gate, {}, ours)
    const offer = await lease(gate, {}, worker('w1', 'ours'))
    const strangers = [
      [gate.renewLease(worker('w1', 'theirs'), held(offer)), 'TASK_NOT_FOUND'],
      [gate.complete(worker('w1', 'theirs'), { ...held(offer), result: 1 }), 'TASK_NOT_FOUND'],
      [gate.cancelTask(admin('theirs'), { task_id }), 'TASK_NOT_FOUND'],
      [gate.retryTask(admin('theirs'), { task_id }), 'TASK_NOT_FOUND'],
      [gate.getTask(admin('theirs'), { task_id }), 'TASK_NOT_FOUND'],
      [gate.getReceipt(admin('theirs'), { receipt_id }), 'RECEIPT_NOT_FOUND'],
      [gate.ackReceipt(admin('theirs'), { receipt_id }), 'RECEIPT_NOT_FOUND'],
      [gate.listReceipts(theirs, { since_receipt_id: receipt_id }), 'VALIDATION_ERROR'],
      [ask(gate, { caused_by_receipt_id: receipt_id }, theirs), 'PARENT_NOT_FOUND'],
    ] as const
    const answers = await refusals(strangers.map(([call]) => call))
    expect(answers.map((answer) => answer.code)).toEqual(strangers.map(([, code]) => code))
    expect((await gate.listReceipts(admin('theirs'), { task_id })).receipts).toEqual([])
    expect((await gate.listReceiptsLedger(admin('theirs'), { task_id })).receipts).toEqual([])
    expect(await gate.cancelTasks(admin('theirs'), { task_ids: [task_id] })).toMatchObject({
      count: 0,
      more: false,
    })
    expect(await gate.getTask(ours, { task_id })).toMatchObject({ status: 'leased' })
  })

  it('objects of another tenant get the same response as missing ones', async () => {
    const { gate } = await open()
    const { task_id, receipt_id } = await ask(gate, {}, ours)
    await ask(gate, {}, theirs)
    const absentTask = '01234567-89ab-7def-8123-456789abcdef'
    const own = at((await gate.listReceipts(theirs)).receipts, 0).receipt_id
    const absentReceipt = own.replace(/^.{18}/, '00000000-0000-8fff')
    const blank = (answer: object, id: string) => JSON.stringify(answer).replaceAll(id, 'ID')
    const task = async (id: string) => [
      blank(await refusal(gate.getTask(admin('theirs'), { task_id: id })), id),
      blank(await refusal(gate.cancelTask(admin('theirs'), { task_id: id })), id),
      blank(await refusal(gate.renewLease(worker('w1', 'theirs'), held({ task_id: id, lease_id: 'x' }))), id),
    ]
    const receipt = async (id: string) => [
      blank(await refusal(gate.getReceipt(admin('theirs'), { receipt_id: id })), id),
      blank(await refusal(gate.ackReceipt(admin('theirs'), { receipt_id: id })), id),
      blank(await refusal(ask(gate, { caused_by_receipt_id: id }, theirs)), id),
    ]
    expect(await task(task_id)).toEqual(await task(absentTask))
    expect(await receipt(receipt_id)).toEqual(await receipt(absentReceipt))
  })

  it('a second gate on the same database separates the tenants', async () => {
    const { gate, store, another } = await open()
    await ask(gate, { type: 'a' }, ours)
    await ask(gate, { type: 'b' }, theirs)
    if (!store.shared) await gate.close()
    const { gate: second } = await another()
    expect(await claim(second, { accept_types: ['b'] }, worker('w1', 'ours'))).toEqual([])
    expect(await lease(second, { accept_types: ['a'] }, worker('w1', 'ours'))).toMatchObject({ type: 'a' })
    const offer = await lease(second, {}, worker('w1', 'theirs'))
    await second.complete(worker('w1', 'theirs'), { ...held(offer), result: 1, artifacts: ['x'] })
    expect(await openTasks(second, theirs)).toEqual([])
    expect(await openTasks(second, ours)).toHaveLength(1)
  })

  it('tenants have separate fairness queues', async () => {
    const { gate } = await open()
    await askMany(gate, 50, {}, ours)
    const first = await ask(gate, {}, theirs)
    expect(await lease(gate, {}, worker('w1', 'theirs'))).toMatchObject({ task_id: first.task_id })
    const offer = await lease(gate, {}, worker('w1', 'ours'))
    expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })
})
