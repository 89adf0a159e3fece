import { expect, it } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'

const MB = 1024 * 1024

describeGates('large payloads', (open) => {
  it('large payloads fill a page of active tasks, and the cursor leads to the rest', async () => {
    const { gate } = await open()
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      const { task_id } = await gate.createTask(agent(), { type: 'large', payload: ['x'.repeat(MB - 100)] })
      ids.push(task_id)
    }
    const first = await gate.activeTasks(agent(), { limit: 200 })
    expect(first.tasks.length).toBeLessThan(10)
    const found = [...first.tasks]
    for (let { next_cursor } = first; next_cursor !== null; ) {
      const page = await gate.activeTasks(agent(), { limit: 200, cursor: next_cursor })
      found.push(...page.tasks)
      next_cursor = page.next_cursor
    }
    expect(found.map(({ task_id }) => task_id)).toEqual(ids)
    expect(found[0]?.payload).toEqual(['x'.repeat(MB - 100)])
    const { attention } = await gate.bootstrap(agent(), { max_items: 200 })
    expect(attention.more).toBe(true)
    expect(attention.assigned_tasks.length).toBeGreaterThan(0)
  })

  it('a claim returns as many large payloads as fit, and at least one', async () => {
    const { gate } = await open()
    const total = 20
    for (let n = 0; n < total; n++) {
      await gate.createTask(agent(), { type: 'large', payload: ['x'.repeat(MB - 100)] })
    }
    const taken = new Set<string>()
    const sizes: number[] = []
    while (taken.size < total) {
      const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', max_tasks: 100 })
      expect(tasks.length).toBeGreaterThan(0)
      sizes.push(tasks.length)
      for (const { task_id } of tasks) taken.add(task_id)
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8)
  })

  it('a claim returns all small payloads together', async () => {
    const { gate } = await open()
    await gate.createTasks(agent(), { tasks: Array.from({ length: 60 }, () => ({ type: 'small' })) })
    const { tasks } = await gate.leaseNext(worker(), { worker_id: 'w1', max_tasks: 100 })
    expect(tasks).toHaveLength(60)
  })
})
