import { expect, it } from 'vitest'
import { isNeed, StoreError } from '../../../src/store/store.ts'
import { admin, agent, type Bench, describeGates, worker } from '../../support/gates.ts'
import {
  ask as create,
  failTask,
  finish,
  hold,
  override,
  receiptTypes,
  refusal,
  statusOf,
} from '../../support/steps.ts'

describeGates('dependencies between tasks', (open) => {
  type Gate = Bench['gate']
  const ended = async (gate: Gate, { task_id }: { task_id: string }) =>
    gate.waitForTask(agent(), { task_id, wait_seconds: 10 })
  const claim = (gate: Gate, type: string) =>
    gate.leaseNext(worker(), { worker_id: 'w1', accept_types: [type], max_tasks: 10 })
  const depend = (gate: Gate, ids: string[], fields: object = {}) =>
    create(gate, { type: 'after', depends_on: ids.map((task_id) => ({ task_id })), ...fields })

  it('a task waits without a lease until all tasks that it depends on have succeeded', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const second = await hold(gate)
    const after = await depend(gate, [first.task_id, second.task_id])
    expect(after.status).toBe('queued')
    const waiting = await gate.getTask(agent(), { task_id: after.task_id })
    expect(waiting).toMatchObject({
      waiting_for: { tasks: 2, mode: 'all' },
      depends_on: [{ task_id: first.task_id }, { task_id: second.task_id }],
      next_eligible_at: null,
    })
    await finish(gate, first)
    expect((await claim(gate, 'after')).tasks).toEqual([])
    await finish(gate, second)
    expect((await claim(gate, 'after')).tasks.map((task) => task.task_id)).toEqual([after.task_id])
    expect(await gate.getTask(agent(), { task_id: after.task_id })).not.toHaveProperty('waiting_for')
  })

  it('is canceled if one of them fails, and so are those that depend on it', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const second = await depend(gate, [first.task_id])
    const third = await depend(gate, [second.task_id])
    await failTask(gate, first)
    const last = await ended(gate, third)
    expect(last.status).toBe('canceled')
    expect(last.result?.error).toMatchObject({ code: 'DEPENDENCY_FAILED', task_id: second.task_id })
    expect(await receiptTypes(gate, second)).toEqual(['task.assigned', 'task.canceled', 'task.result_ready'])
  })

  it('goes on after a failure with on_failure: continue', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const fields = { depends_on: [{ task_id: first.task_id, on_failure: 'continue' }] }
    const after = await create(gate, { type: 'after', ...fields })
    await failTask(gate, first)
    expect((await claim(gate, 'after')).tasks.map((task) => task.task_id)).toEqual([after.task_id])
  })

  it('with depends_mode: any one success is enough, and only the last failure cancels', async () => {
    const { gate } = await open()
    const [a, b] = [await hold(gate), await hold(gate)]
    const either = await depend(gate, [a.task_id, b.task_id], { depends_mode: 'any' })
    await failTask(gate, a)
    expect((await claim(gate, 'after')).tasks).toEqual([])
    expect(await statusOf(gate, either)).toBe('queued')
    await finish(gate, b)
    expect((await claim(gate, 'after')).tasks).toHaveLength(1)

    const [c, d] = [await hold(gate), await hold(gate)]
    const none = await depend(gate, [c.task_id, d.task_id], { depends_mode: 'any' })
    await failTask(gate, c)
    await failTask(gate, d)
    expect((await ended(gate, none)).status).toBe('canceled')
  })

  it('tasks that have ended already count when the task is created', async () => {
    const { gate } = await open()
    const done = await hold(gate)
    await finish(gate, done)
    const ready = await depend(gate, [done.task_id])
    expect((await claim(gate, 'after')).tasks.map((task) => task.task_id)).toEqual([ready.task_id])
    const failed = await hold(gate)
    await failTask(gate, failed)
    expect((await depend(gate, [failed.task_id])).status).toBe('canceled')
    expect((await depend(gate, [failed.task_id, done.task_id], { depends_mode: 'any' })).status).toBe(
      'queued',
    )
  })

  it('refuses tasks that do not exist, belong to others or are named twice', async () => {
    const { gate } = await open()
    const missing = '01978f4a-0000-7000-8000-00000000ffff'
    expect(await refusal(depend(gate, [missing]))).toMatchObject({
      code: 'TASK_NOT_FOUND',
      details: { task_id: missing, field: 'depends_on' },
    })
    const foreign = await gate.createTask(agent('bob'), { type: 'x' })
    expect((await refusal(depend(gate, [foreign.task_id]))).code).toBe('FORBIDDEN')
    const own = await create(gate, { type: 'x' })
    expect((await refusal(depend(gate, [own.task_id, own.task_id]))).code).toBe('VALIDATION_ERROR')
    expect((await refusal(create(gate, { type: 'x', depends_mode: 'any' }))).code).toBe('VALIDATION_ERROR')
    const byAdmin = { type: 'after', depends_on: [{ task_id: foreign.task_id }] }
    expect((await gate.createTask(admin(), byAdmin)).status).toBe('queued')
  })

  it('a delay and a deadline hold while the task waits', async () => {
    const { gate, clock } = await open()
    const first = await hold(gate)
    const delayed = await depend(gate, [first.task_id], { delay_seconds: 60 })
    const deadline_at = new Date(clock.now + 5_000).toISOString()
    const late = await depend(gate, [first.task_id], { deadline_at })
    clock.advance(6)
    await gate.sweep()
    expect((await gate.getTask(agent(), { task_id: late.task_id })).result?.error).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    })
    await finish(gate, first)
    expect((await claim(gate, 'after')).tasks).toEqual([])
    clock.advance(60)
    expect((await claim(gate, 'after')).tasks.map((task) => task.task_id)).toEqual([delayed.task_id])
  })

  it('a sweep settles tasks whose server ended before it could', async () => {
    let isBroken = true
    const { gate } = await open({
      wrap: (store) =>
        override(store, {
          commit: (need, decide) =>
            store.commit(need, (loaded) => {
              const decided = decide(loaded)
              if (isNeed(decided) || !isBroken || decided.settled.length === 0) return decided
              throw new StoreError('unavailable', 'the server was killed')
            }),
        }),
    })
    const first = await hold(gate)
    const after = await depend(gate, [first.task_id])
    await finish(gate, first)
    // This claim may be in the batch that fails.
    await claim(gate, 'after').catch(() => undefined)
    isBroken = false
    expect((await claim(gate, 'after')).tasks).toEqual([])
    await gate.sweep()
    expect((await claim(gate, 'after')).tasks.map((task) => task.task_id)).toEqual([after.task_id])
  })

  it('more dependents than one commit follows are all released', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    const tasks = Array.from({ length: 450 }, () => ({
      type: 'after',
      depends_on: [{ task_id: first.task_id }],
    }))
    await gate.createTasks(agent(), { tasks })
    await finish(gate, first)
    let count = 0
    for (;;) {
      const { tasks: found } = await gate.leaseNext(worker(), {
        worker_id: 'w1',
        accept_types: ['after'],
        max_tasks: 100,
      })
      if (found.length === 0) break
      count += found.length
    }
    expect(count).toBe(450)
  })
})
