import { expect, it } from 'vitest'
import { agent, caller, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  at,
  failTask,
  finish,
  held,
  hold,
  lease,
  openTasks,
  refusal,
} from '../../support/steps.ts'

describeGates('list_open_obligations', (open) => {
  it('list_open_obligations returns exactly four members', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    const answer = await gate.listOpenObligations(agent())
    expect(Object.keys(answer).toSorted()).toEqual(['cursor', 'open_obligations', 'relationship', 'server'])
    expect(answer).toMatchObject({
      server: {
        name: 'AsyncGate',
        version: expect.any(String),
        instance_id: 'asyncgate-1',
        environment: 'development',
        uptime: expect.any(Number),
      },
      relationship: {
        principal_kind: 'agent',
        principal_id: 'alice',
        first_seen_at: null,
        last_seen_at: null,
        sessions_count: 0,
        agent_instance_id: null,
        agent_version: null,
        client_capabilities: null,
      },
      open_obligations: [
        { receipt_id: task.receipt_id, receipt_type: 'task.assigned', task_id: task.task_id },
      ],
      cursor: null,
    })
  })

  it('list_open_obligations changes nothing', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 3)
    const first = await gate.listOpenObligations(agent())
    clock.advance(100)
    expect(await gate.listOpenObligations(agent())).toEqual({ ...first, server: expect.any(Object) })
    expect(first.open_obligations.map((receipt) => receipt.delivered_at)).toEqual([null, null, null])
    const { receipts } = await gate.listReceipts(agent())
    expect(receipts.map((receipt) => receipt.receipt_type)).toEqual(Array(3).fill('task.assigned'))
  })

  it('an obligation stays open until the task ends', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { max_attempts: 9 })
    const isOpen = async () => expect(await openTasks(gate)).toEqual([offer.task_id])
    await isOpen()
    await gate.startTask(worker(), held(offer))
    await isOpen()
    await failTask(gate, offer, { retryable: true, retry_after_seconds: 0 })
    await isOpen()
    await gate.releaseLease(worker(), held(await lease(gate)))
    await isOpen()
    const lost = await lease(gate)
    clock.advance(120)
    await gate.sweep()
    await isOpen()
    clock.advance(5)
    const last = await lease(gate)
    expect(last.task_id).toBe(lost.task_id)
    await finish(gate, last)
    expect(await openTasks(gate)).toEqual([])
  })

  it('owner and principal_ai are owed a task until it completes with evidence', async () => {
    const { gate } = await open()
    const offer = await hold(gate, { principal_ai: 'bob' })
    for (const by of [agent('alice'), agent('bob')])
      expect(await openTasks(gate, by)).toEqual([offer.task_id])
    expect(await openTasks(gate, agent('carol'))).toEqual([])
    expect(await openTasks(gate, caller('human', 'bob', 'agent'))).toEqual([])
    await finish(gate, offer, { artifacts: undefined })
    for (const by of [agent('alice'), agent('bob')])
      expect(await openTasks(gate, by)).toEqual([offer.task_id])
    await finish(gate, offer)
    for (const by of [agent('alice'), agent('bob')]) expect(await openTasks(gate, by)).toEqual([])
  })

  it('an owner that is its own principal_ai is owed the task once', async () => {
    const { gate } = await open()
    await ask(gate, { principal_ai: 'alice' })
    await gate.createTask(caller('service', 'cron', 'system'), { type: 'job', principal_ai: 'cron' })
    expect(await openTasks(gate)).toHaveLength(1)
    expect(await openTasks(gate, caller('service', 'cron', 'system'))).toHaveLength(1)
    expect(await openTasks(gate, agent('cron'))).toHaveLength(1)
  })

  it('pages list each obligation once, oldest first, while others are closed', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 10)
    const found: (string | null)[] = []
    let since: string | null | undefined
    for (let page = 0; since !== null; page++) {
      const input = { limit: 3, ...(since !== undefined && { since_receipt_id: since }) }
      const { open_obligations, cursor } = await gate.listOpenObligations(agent(), input)
      found.push(...open_obligations.map((receipt) => receipt.task_id))
      since = cursor
      if (page === 0) await gate.cancelTasks(agent(), { task_ids: [at(ids, 0), at(ids, 2), at(ids, 9)] })
    }
    expect(found).toEqual(ids.slice(0, 9))
  })

  it('the last page of open obligations has no cursor', async () => {
    const { gate } = await open()
    await askMany(gate, 3)
    expect((await gate.listOpenObligations(agent(), { limit: 3 })).cursor).toBeNull()
    expect((await gate.listOpenObligations(agent(), { limit: 2 })).cursor).not.toBeNull()
    for (const limit of [0, 201]) {
      expect(await refusal(gate.listOpenObligations(agent(), { limit }))).toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    }
    expect(await refusal(gate.listOpenObligations(agent(), { since_receipt_id: 'nonsense' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'since_receipt_id' },
    })
  })
})
