import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'
import {
  ask,
  askMany,
  claim,
  failTask,
  finish,
  held,
  lease,
  receiptTypes,
  statusOf,
  sum,
} from '../../support/steps.ts'

describeGates('concurrent claims', (open) => {
  it('concurrent claims never share a task', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 20)
    const claims = await Promise.all(Array.from({ length: 50 }, (_, n) => claim(gate, {}, worker(`w${n}`))))
    const taken = claims.flat().map((task) => task.task_id)
    expect(taken.toSorted()).toEqual(ids.toSorted())
    expect(claims.filter((tasks) => tasks.length === 1)).toHaveLength(20)
    expect(new Set(claims.flat().map((task) => task.lease_id)).size).toBe(20)
    for (const task_id of ids) {
      expect(await receiptTypes(gate, { task_id })).toEqual(['task.assigned', 'task.accepted'])
    }
  })

  it('concurrent claims find every task, also beyond the rows of one batch', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 1500)
    const taken: string[] = []
    for (let round = 0; round < 10 && taken.length < 1500; round++) {
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) => claim(gate, { max_tasks: 100 }, worker(`w${n}`))),
      )
      // A claim is empty only when no task is left.
      if (taken.length + sum(claims.map((tasks) => tasks.length)) < 1500) {
        for (const tasks of claims) expect(tasks.length).toBeGreaterThan(0)
      }
      taken.push(...claims.flat().map((task) => task.task_id))
    }
    expect(taken.toSorted()).toEqual(ids.toSorted())
    expect(await claim(gate, { max_tasks: 100 })).toEqual([])
  })

  it('claims mixed with creates in the same batches lose no task', async () => {
    const { gate } = await open()
    const created: Promise<{ task_id: string }>[] = []
    const claims: ReturnType<typeof claim>[] = []
    for (let n = 0; n < 300; n++) {
      created.push(ask(gate, { type: `t${n % 7}`, priority: n % 3 }))
      if (n % 2 === 0) claims.push(claim(gate, { max_tasks: 2 }))
    }
    const ids = (await Promise.all(created)).map((task) => task.task_id)
    const taken = (await Promise.all(claims)).flat()
    for (let more = await claim(gate, { max_tasks: 100 }); more.length > 0; ) {
      taken.push(...more)
      more = await claim(gate, { max_tasks: 100 })
    }
    expect(taken.map((task) => task.task_id).toSorted()).toEqual(ids.toSorted())
  })

  it('a claim races with cancel, and one of them wins each task', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 30)
    const [tasks, ...cancels] = await Promise.all([
      claim(gate, { max_tasks: 100 }),
      ...ids.map((task_id) => gate.cancelTask(agent(), { task_id })),
    ])
    expect(cancels.every((answer) => answer.ok)).toBe(true)
    for (const task_id of ids) expect(await statusOf(gate, { task_id })).toBe('canceled')
    for (const task of tasks) {
      expect(await receiptTypes(gate, task)).toEqual([
        'task.assigned',
        'task.accepted',
        'task.canceled',
        'task.result_ready',
      ])
    }
  })
})

describeGates('lease quota', (open) => {
  it('the lease quota is exact for one claim and for concurrent ones, and an empty claim is not an error', async () => {
    const { gate } = await open({ settings: { max_concurrent_leases: 10 } })
    await askMany(gate, 100)
    const claims = await Promise.all(Array.from({ length: 30 }, () => claim(gate, { max_tasks: 3 })))
    expect(claims.flat()).toHaveLength(10)
    expect(await claim(gate, { max_tasks: 100 })).toEqual([])
  })

  it('the lease quota counts held leases, not ended ones', async () => {
    const { gate, clock } = await open({ settings: { max_concurrent_leases: 5 } })
    await askMany(gate, 20)
    const [a, b, c, d, e] = await claim(gate, { max_tasks: 20 })
    if (!(a && b && c && d && e)) return expect.unreachable()
    await gate.startTask(worker(), held(e))
    expect(await claim(gate)).toEqual([])
    await finish(gate, a)
    await failTask(gate, b, { retryable: true })
    await gate.releaseLease(worker(), held(c))
    await gate.cancelTask(agent(), { task_id: d.task_id })
    expect(await claim(gate, { max_tasks: 20 })).toHaveLength(4)
    clock.advance(120)
    expect(await claim(gate, { max_tasks: 20 })).toHaveLength(5)
  })

  it('each tenant has its own lease quota', async () => {
    const { gate } = await open({ settings: { max_concurrent_leases: 1 } })
    await askMany(gate, 2)
    await askMany(gate, 2, {}, agent('alice', 'other'))
    await lease(gate)
    await lease(gate, {}, worker('w1', 'other'))
    expect(await claim(gate)).toEqual([])
    expect(await claim(gate, {}, worker('w1', 'other'))).toEqual([])
  })
})
