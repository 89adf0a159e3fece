import { expect, it, vi } from 'vitest'
import { StoreError } from '../../../src/store/store.ts'
import { admin, agent, describeGates } from '../../support/gates.ts'
import {
  ask,
  askMany,
  claim,
  finish,
  hold,
  openTasks,
  receiptTypes,
  refusal,
  statusOf,
} from '../../support/steps.ts'

describeGates('cancel_tasks', (open) => {
  it('cancel_tasks cancels the open tasks that match a filter', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { session_id: 's' })
    await claim(gate)
    const other = await ask(gate, { session_id: 't' })
    const done = await hold(gate, { type: 'done', session_id: 's' }, { accept_types: ['done'] })
    await finish(gate, done)
    expect(await gate.cancelTasks(agent(), { session_id: 's', reason: 'over' })).toEqual({
      count: 3,
      matched: 3,
      skipped: 0,
      more: false,
      next_cursor: null,
    })
    expect(await gate.cancelTasks(agent(), { session_id: 's' })).toMatchObject({ count: 0, matched: 0 })
    expect(await openTasks(gate)).toEqual([other.task_id])
    expect(await statusOf(gate, done)).toBe('succeeded')
  })

  it('cancel_tasks filters by type, status, creator and labels', async () => {
    const { gate } = await open()
    const labelled = await ask(gate, { labels: { team: 'blue', env: 'x' } })
    const typed = await ask(gate, { type: 'special' })
    const bobs = await ask(gate, {}, agent('bob'))
    const offer = await hold(gate, { type: 'held' }, { accept_types: ['held'] })
    const cancel = (filter: object) => gate.cancelTasks(admin(), filter)
    expect(await cancel({ labels: { team: 'red' } })).toMatchObject({ count: 0 })
    expect(await cancel({ labels: { team: 'blue' } })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, labelled)).toBe('canceled')
    expect(await cancel({ type: 'special' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, typed)).toBe('canceled')
    expect(await cancel({ created_by: 'bob' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, bobs)).toBe('canceled')
    expect(await cancel({ status: 'leased' })).toMatchObject({ count: 1 })
    expect(await statusOf(gate, offer)).toBe('canceled')
  })

  it('cancel_tasks with dry_run only counts', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { session_id: 's' })
    await ask(gate, { session_id: 't' })
    const counted = await gate.cancelTasks(agent(), { session_id: 's', dry_run: true })
    expect(counted).toEqual({ count: 0, matched: 3, skipped: 0, more: false, next_cursor: null })
    expect(await openTasks(gate)).toHaveLength(4)
    const some = await gate.cancelTasks(agent(), { all: true, dry_run: true, limit: 2 })
    expect(some).toMatchObject({ count: 0, matched: 2, more: true })
    const named = { task_ids: await openTasks(gate), dry_run: true }
    expect(await refusal(gate.cancelTasks(agent(), named))).toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it('cancel_tasks cancels each task in task_ids once', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 3)
    await gate.cancelTask(agent(), { task_id: ids[0] })
    const unknown = '01234567-89ab-7def-8123-456789abcdef'
    expect(await gate.cancelTasks(agent(), { task_ids: [...ids, unknown, ...ids] })).toEqual({
      count: 2,
      matched: 4,
      skipped: 2,
      more: false,
      next_cursor: null,
    })
    for (const task_id of ids) {
      expect(await receiptTypes(gate, { task_id })).toEqual([
        'task.assigned',
        'task.canceled',
        'task.result_ready',
      ])
    }
  })

  it('cancel_tasks cancels only the tasks of the calling agent', async () => {
    const { gate } = await open()
    const mine = await ask(gate, { session_id: 's' })
    const bobs = await ask(gate, { session_id: 's' }, agent('bob'))
    expect(await gate.cancelTasks(agent('bob'), { task_ids: [mine.task_id] })).toMatchObject({
      count: 0,
      skipped: 1,
    })
    expect(await gate.cancelTasks(agent(), { session_id: 's' })).toMatchObject({ count: 1, matched: 1 })
    expect(await statusOf(gate, mine)).toBe('canceled')
    expect(await statusOf(gate, bobs)).toBe('queued')
    expect(await refusal(gate.cancelTasks(agent(), { created_by: 'bob' }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await gate.cancelTasks(admin(), { session_id: 's' })).toMatchObject({ count: 1 })
  })

  it('cancel_tasks cancels thousands in one call, and at most limit', async () => {
    const { gate } = await open()
    await askMany(gate, 2300, { session_id: 's' })
    const first = await gate.cancelTasks(agent(), { session_id: 's', limit: 700 })
    expect(first).toMatchObject({ count: 700, more: true })
    expect(await gate.cancelTasks(agent(), { session_id: 's' })).toMatchObject({ count: 1600, more: false })
    expect(await openTasks(gate)).toEqual([])
  })

  it('cancel_tasks continues at its cursor and skips tasks created since it began', async () => {
    const { gate } = await open()
    await askMany(gate, 30, { session_id: 's' })
    let answer = await gate.cancelTasks(agent(), { session_id: 's', limit: 10 })
    const late = await askMany(gate, 5, { session_id: 's' })
    let count = answer.count
    while (answer.more) {
      answer = await gate.cancelTasks(agent(), { session_id: 's', limit: 10, cursor: answer.next_cursor })
      count += answer.count
    }
    expect(count).toBe(30)
    expect(await openTasks(gate)).toEqual(late)
  })

  it('cancel_tasks refuses a cursor of another filter or another agent', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { session_id: 's' })
    const { next_cursor: cursor } = await gate.cancelTasks(agent(), { session_id: 's', limit: 1 })
    for (const [by, input] of [
      [agent(), { session_id: 't', cursor }],
      [agent('bob'), { session_id: 's', cursor }],
      [agent(), { session_id: 's', cursor: 'AAAA' }],
    ] as const) {
      expect(await refusal(gate.cancelTasks(by, input))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'cursor' },
      })
    }
    expect(await openTasks(gate)).toHaveLength(2)
  })

  it('cancel_tasks ends while other callers keep creating tasks', async () => {
    const { gate } = await open()
    await askMany(gate, 1200, { session_id: 's' })
    let isOver = false
    let created = 0
    const runaway = (async () => {
      while (!isOver) created += (await askMany(gate, 20, { session_id: 's' })).length
    })()
    const { count, more } = await gate.cancelTasks(agent(), { session_id: 's' })
    isOver = true
    await runaway
    expect(more).toBe(false)
    expect(count).toBeGreaterThanOrEqual(1200)
    const { count: rest } = await gate.cancelTasks(agent(), { session_id: 's' })
    expect(count + rest).toBe(1200 + created)
    expect(created).toBeGreaterThan(0)
  })

  it('cancel_tasks stops between two portions when its caller disconnects, and canceled tasks stay canceled', async () => {
    const { gate } = await open()
    await askMany(gate, 1500, { session_id: 's' })
    const leaving = new AbortController()
    const unlisten = gate.onTask(({ status }) => {
      if (status === 'canceled') leaving.abort()
    })
    const { count, more } = await gate.cancelTasks(agent(), { session_id: 's' }, leaving.signal)
    unlisten()
    expect({ count, more }).toEqual({ count: 500, more: true })
    expect(await gate.cancelTasks(agent(), { session_id: 's' })).toMatchObject({ count: 1000, more: false })
  })

  it('cancel_tasks returns before the request time limit and reports more', async () => {
    const { gate } = await open()
    await askMany(gate, 1100, { session_id: 's' })
    const clock = vi.spyOn(performance, 'now')
    let now = 0
    const unlisten = gate.onTask(() => {
      now = 46_000
    })
    clock.mockImplementation(() => now)
    try {
      const { count, more } = await gate.cancelTasks(agent(), { session_id: 's' })
      expect({ count, more }).toEqual({ count: 500, more: true })
    } finally {
      clock.mockRestore()
      unlisten()
    }
  })

  it('cancel_tasks reports what it has done when the database fails halfway', async () => {
    let isDown = false
    const { gate } = await open({
      wrap: (store) =>
        new Proxy(store, {
          get(target, name) {
            if (name === 'commit' && isDown)
              return () => Promise.reject(new StoreError('unavailable', 'the test pulled the plug'))
            const value: unknown = Reflect.get(target, name)
            return typeof value === 'function' ? value.bind(target) : value
          },
        }),
    })
    await askMany(gate, 1100, { session_id: 's' })
    const unlisten = gate.onTask(() => {
      isDown = true
    })
    const { count, more, next_cursor: cursor } = await gate.cancelTasks(agent(), { session_id: 's' })
    unlisten()
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(1100)
    expect(more).toBe(true)
    expect(await refusal(gate.cancelTasks(agent(), { session_id: 's', cursor }))).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    })
    isDown = false
    const rest = await gate.cancelTasks(agent(), { session_id: 's', cursor })
    expect(count + rest.count).toBe(1100)
  })

  it('cancel_tasks cancels every task only with all: true', async () => {
    const { gate } = await open()
    await askMany(gate, 3)
    const bobs = await ask(gate, {}, agent('bob'))
    expect(await refusal(gate.cancelTasks(agent(), { all: true, type: 'job' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'all' },
    })
    expect(await gate.cancelTasks(agent(), { all: true })).toMatchObject({ count: 3, more: false })
    expect(await statusOf(gate, bobs)).toBe('queued')
    expect(await gate.cancelTasks(admin(), { all: true })).toMatchObject({ count: 1 })
  })

  it('cancel_tasks refuses an empty filter', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    for (const input of [{}, { reason: 'x' }, { labels: {} }, { session_id: undefined }, { task_ids: [] }]) {
      expect(await refusal(gate.cancelTasks(agent(), input))).toMatchObject({ code: 'VALIDATION_ERROR' })
    }
    expect(await statusOf(gate, task)).toBe('queued')
  })

  it('cancel_tasks refuses a filter together with task_ids', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    const both = { task_ids: [task.task_id], session_id: 's' }
    expect(await refusal(gate.cancelTasks(agent(), both))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'task_ids' },
    })
    expect(await statusOf(gate, task)).toBe('queued')
  })
})
