import { expect, it } from 'vitest'
import { agent, describeGates } from '../../support/gates.ts'
import { ask, finish, hold, lease, openTasks, receiptTypes, refusal } from '../../support/steps.ts'

describeGates('idempotency key', (open) => {
  it('an idempotency key used again with the same input returns the same task and changes nothing', async () => {
    const { gate } = await open()
    const input = { idempotency_key: 'k', payload: { a: 1 }, labels: { x: 'y' } }
    const first = await ask(gate, input)
    expect(await ask(gate, input)).toEqual({ ...first, is_duplicate: true })
    expect(await ask(gate, input)).toEqual({ ...first, is_duplicate: true })
    expect(await receiptTypes(gate, first)).toEqual(['task.assigned'])
    expect(await openTasks(gate)).toEqual([first.task_id])
    await finish(gate, await lease(gate))
    expect(await openTasks(gate)).toEqual([])
  })

  it('an idempotency key ignores the order of object keys', async () => {
    const { gate } = await open()
    const first = await ask(gate, {
      idempotency_key: 'k',
      payload: { a: 1, b: { c: [1, { x: 1, y: 2 }], d: 2 } },
      summary: 's',
    })
    const again = await gate.createTask(agent(), {
      summary: 's',
      payload: { b: { d: 2, c: [1, { y: 2, x: 1 }] }, a: 1 },
      idempotency_key: 'k',
      type: 'job',
    })
    expect(again).toMatchObject({ task_id: first.task_id, is_duplicate: true })
  })

  it('an idempotency key refuses a different input', async () => {
    const { gate } = await open()
    const first = await ask(gate, { idempotency_key: 'k', payload: [1, 2] })
    const others = [
      {},
      { payload: [2, 1] },
      { payload: [1, 2], priority: 1 },
      { payload: [1, 2], type: 'other' },
      { payload: [1, 2], delay_seconds: 1 },
      { payload: [1, 2], session_id: 's' },
    ]
    for (const other of others) {
      expect(await refusal(ask(gate, { idempotency_key: 'k', ...other }))).toMatchObject({
        code: 'IDEMPOTENCY_CONFLICT',
        details: { idempotency_key: 'k', task_id: first.task_id },
      })
    }
    expect(await openTasks(gate)).toEqual([first.task_id])
  })

  it('an idempotency key belongs to one agent of one tenant', async () => {
    const { gate } = await open()
    const input = { idempotency_key: 'k' }
    const answers = [
      await ask(gate, input, agent('alice')),
      await ask(gate, { ...input, payload: 'secret' }, agent('bob')),
      await ask(gate, { ...input, payload: 'other' }, agent('alice', 'other')),
      await ask(gate, { ...input, idempotency_key: 'K' }, agent('alice')),
    ]
    expect(new Set(answers.map((answer) => answer.task_id)).size).toBe(4)
    expect(answers.every((answer) => !answer.is_duplicate)).toBe(true)
  })

  it('an idempotency key is not confused by where owner and key are split', async () => {
    const { gate } = await open()
    const one = await ask(gate, { idempotency_key: 'b:c' }, agent('a'))
    const two = await ask(gate, { idempotency_key: 'c' }, agent('a:b'))
    expect(two.is_duplicate).toBe(false)
    expect(two.task_id).not.toBe(one.task_id)
  })

  it('an idempotency key stays in use after the task has ended, and returns its status', async () => {
    const { gate } = await open()
    const input = { idempotency_key: 'k' }
    const offer = await hold(gate, input)
    expect(await ask(gate, input)).toMatchObject({ status: 'leased', is_duplicate: true })
    await finish(gate, offer)
    expect(await ask(gate, input)).toMatchObject({
      task_id: offer.task_id,
      status: 'succeeded',
      is_duplicate: true,
    })
    expect(await refusal(ask(gate, { ...input, priority: 1 }))).toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
    expect(await openTasks(gate)).toEqual([])
  })

  it('fifty concurrent creates with one idempotency key create one task', async () => {
    const { gate } = await open()
    const input = { idempotency_key: 'k', payload: { a: 1 } }
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(gate, input)))
    expect(new Set(answers.map((answer) => answer.task_id)).size).toBe(1)
    expect(new Set(answers.map((answer) => answer.receipt_id)).size).toBe(1)
    expect(answers.filter((answer) => !answer.is_duplicate)).toHaveLength(1)
    const [task] = answers
    if (task) expect(await receiptTypes(gate, task)).toEqual(['task.assigned'])
    expect(await openTasks(gate)).toHaveLength(1)
  })

  it('the first of two inputs with one idempotency key wins within a batch', async () => {
    const { gate } = await open()
    const tasks = [{ n: 1 }, { n: 2 }, { n: 1 }].map((payload) => ({
      type: 'job',
      idempotency_key: 'k',
      payload,
    }))
    const { results } = await gate.createTasks(agent(), { tasks })
    expect(results).toMatchObject([
      { is_duplicate: false },
      { code: 'IDEMPOTENCY_CONFLICT' },
      { is_duplicate: true },
    ])
  })
})
