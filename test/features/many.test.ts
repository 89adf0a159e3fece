import { describe, expect, it } from 'vitest'
import { Fault } from '../../src/core/errors.ts'
import { outcomesOf } from '../../src/features/many.ts'
import { agent, describeGates } from '../support/gates.ts'
import { ask } from '../support/steps.ts'

const silent = { report: () => {} }

describe('outcomes of many items', () => {
  it('outcomes are in the order of the items and contain the faults of refused items', async () => {
    const outcomes = await outcomesOf(
      [3, 1, 2],
      async (n) => {
        await new Promise((resolve) => setTimeout(resolve, n))
        if (n === 1) throw new Fault('TASK_NOT_FOUND')
        return { n }
      },
      silent,
    )
    expect(outcomes).toMatchObject([{ n: 3 }, { code: 'TASK_NOT_FOUND' }, { n: 2 }])
  })

  it('a bug in one item is an internal error of that item only and is reported', async () => {
    const reported: unknown[] = []
    const bug = new TypeError('x is not a function')
    const run = (n: number) => (n === 1 ? Promise.reject(bug) : Promise.resolve({ n }))
    const outcomes = await outcomesOf([0, 1, 2], run, { report: (error) => reported.push(error) })
    expect(outcomes).toMatchObject([{ n: 0 }, { code: 'INTERNAL_ERROR' }, { n: 2 }])
    expect(JSON.stringify(outcomes)).not.toContain('not a function')
    expect(reported).toEqual([bug])
  })

  it('items not started when the time limit is reached get a retryable refusal', async () => {
    let time = 0
    const begun: number[] = []
    const run = async (n: number) => {
      begun.push(n)
      time += 400
      return { n }
    }
    const outcomes = await outcomesOf([0, 1, 2, 3, 4], run, silent, { budgetMs: 1000, now: () => time })
    expect(begun).toEqual([0, 1, 2])
    const refused = { code: 'OVERLOADED', retryable: true }
    expect(outcomes).toMatchObject([{ n: 0 }, { n: 1 }, { n: 2 }, refused, refused])
  })

  it('the event loop runs between slow items, shared by all concurrent calls', async () => {
    let time = 0
    let inThisTurn = 0
    let most = 0
    const run = async () => {
      await Promise.resolve()
      time += 20
      most = Math.max(most, ++inThisTurn)
    }
    const probe = () => {
      inThisTurn = 0
      if (!isDone) setImmediate(probe)
    }
    let isDone = false
    setImmediate(probe)
    const many = () => outcomesOf([1, 2, 3, 4, 5], run, silent, { now: () => time })
    await Promise.all([many(), many(), many()])
    isDone = true
    // Each of the three calls starts its first item immediately.
    expect(most).toBeLessThanOrEqual(3)
  })
})

describeGates('batch of tasks', (open) => {
  it('tasks of one createTasks call share commits', async () => {
    const { gate } = await open()
    await ask(gate)
    const commits: number[] = []
    gate.onCommit(({ commands }) => commits.push(commands))
    const tasks = Array.from({ length: 20 }, (_, i) => ({ type: 'job', payload: { i } }))
    await gate.createTasks(agent(), { tasks })
    expect(Math.max(...commits)).toBeGreaterThan(1)
    expect(commits.length).toBeLessThan(tasks.length)
  })
})
