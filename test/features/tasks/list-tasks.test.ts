import { expect, it } from 'vitest'
import type { Caller } from '../../../src/core/principal.ts'
import type { Gate } from '../../../src/features/gate.ts'
import type { TaskView } from '../../../src/features/tasks/shape.ts'
import { admin, agent, caller, describeGates } from '../../support/gates.ts'
import { ask, askMany, claim, failTask, finish, hold, refusal } from '../../support/steps.ts'

/** All pages of a list. The callback runs between two pages. */
async function pages(gate: Gate, by: Caller, input: object, between = async () => {}) {
  const found: (readonly TaskView[])[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await gate.listTasks(by, { ...input, ...(cursor !== undefined && { cursor }) })
    found.push(page.tasks)
    cursor = page.next_cursor
    await between()
  }
  return found
}

const idsOf = (tasks: readonly { task_id: string }[]) => tasks.map((task) => task.task_id)

describeGates('list_tasks', (open) => {
  it('list_tasks returns whole tasks, newest first', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 5, { payload: { n: 1 } })
    const { tasks, next_cursor } = await gate.listTasks(agent())
    expect(idsOf(tasks)).toEqual(ids.toReversed())
    expect(next_cursor).toBeNull()
    const { hint: _, ...task } = await gate.getTask(agent(), { task_id: ids[4] })
    expect(tasks[0]).toEqual(task)
  })

  it('list_tasks filters by status, with both spellings of canceled', async () => {
    const { gate } = await open()
    const canceled = await ask(gate)
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    const done = await hold(gate)
    await finish(gate, done)
    const failed = await hold(gate)
    await failTask(gate, failed)
    const leased = await hold(gate)
    const queued = await ask(gate)
    for (const by of [agent(), admin()]) {
      const found = async (status: string) => idsOf((await gate.listTasks(by, { status })).tasks)
      expect(await found('canceled')).toEqual([canceled.task_id])
      expect(await found('cancelled')).toEqual([canceled.task_id])
      expect(await found('succeeded')).toEqual([done.task_id])
      expect(await found('failed')).toEqual([failed.task_id])
      expect(await found('leased')).toEqual([leased.task_id])
      expect(await found('queued')).toEqual([queued.task_id])
      expect(await found('running')).toEqual([])
    }
    expect(await refusal(gate.listTasks(agent(), { status: 'done' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'status' },
    })
  })

  it('list_tasks filters by type, creator, session and labels together', async () => {
    const { gate } = await open()
    const a = await ask(gate, { type: 'a', session_id: 's', labels: { team: 'blue', env: 'x' } })
    const b = await ask(gate, { type: 'b', session_id: 's', labels: { team: 'blue' } })
    const c = await ask(gate, { type: 'a', labels: { team: 'red' } }, agent('bob'))
    const d = await gate.createTask(caller('service', 'alice', 'system'), { type: 'a' })
    const found = async (filter: object) => idsOf((await gate.listTasks(admin(), filter)).tasks)
    expect(await found({ type: 'a' })).toEqual(idsOf([d, c, a]))
    expect(await found({ created_by: 'alice' })).toEqual(idsOf([b, a]))
    expect(await found({ created_by: 'agent:alice' })).toEqual(idsOf([b, a]))
    expect(await found({ created_by: 'service:alice' })).toEqual(idsOf([d]))
    expect(await found({ session_id: 's' })).toEqual(idsOf([b, a]))
    expect(await found({ labels: { team: 'blue' } })).toEqual(idsOf([b, a]))
    expect(await found({ labels: { team: 'blue', env: 'x' } })).toEqual(idsOf([a]))
    expect(await found({ labels: { team: 'blue', env: 'y' } })).toEqual([])
    expect(await found({ session_id: 's', type: 'a', status: 'queued', created_by: 'alice' })).toEqual(
      idsOf([a]),
    )
    expect(await found({ session_id: 's', created_by: 'bob' })).toEqual([])
    expect(await refusal(gate.listTasks(admin(), { created_by: 'nobody:alice' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'created_by' },
    })
  })

  it('list_tasks pages through every task exactly once while tasks are created and end', async () => {
    const { gate } = await open()
    const ids = await askMany(gate, 23)
    await askMany(gate, 5, {}, agent('bob'))
    for (const limit of [1, 7, 23, 200]) {
      const found = await pages(gate, agent(), { limit }, async () => {
        await ask(gate, { type: 'later', session_id: 'later' })
        for (const offer of await claim(gate, { accept_types: ['later'] })) await finish(gate, offer)
      })
      const listed = found.flat().filter((task) => task.type === 'job')
      expect(idsOf(listed)).toEqual(ids.toReversed())
      for (const page of found.slice(0, -1)) expect(page).toHaveLength(limit)
    }
  })

  it('list_tasks accepts only cursors of the same filter', async () => {
    const { gate } = await open()
    await askMany(gate, 3, { session_id: 's' })
    await askMany(gate, 3, {}, agent('bob'))
    await askMany(gate, 3, {}, agent('alice', 'other'))
    const cursorOf = async (by: Caller, filter: object) =>
      (await gate.listTasks(by, { ...filter, limit: 1 })).next_cursor ?? ''
    const cursor = await cursorOf(agent(), { session_id: 's' })
    const strangers = [
      await cursorOf(agent(), {}),
      await cursorOf(agent(), { session_id: 's', type: 'job' }),
      await cursorOf(agent('bob'), {}),
      await cursorOf(agent('alice', 'other'), {}),
      await cursorOf(admin(), { session_id: 's' }),
      `A${cursor.slice(1)}`,
      `${cursor.slice(0, -2)}zz`,
      Buffer.from('2').toString('base64url'),
      'nonsense',
      '1',
    ]
    for (const [n, other] of strangers.entries()) {
      expect(
        await refusal(gate.listTasks(agent(), { session_id: 's', cursor: other })),
        `${n}`,
      ).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'cursor' },
      })
    }
    expect((await gate.listTasks(agent(), { session_id: 's', cursor, limit: 3 })).tasks).toHaveLength(2)
  })

  it('list_tasks refuses invalid page sizes', async () => {
    const { gate } = await open()
    for (const limit of [0, -1, 201, 1.5, '10']) {
      expect(await refusal(gate.listTasks(agent(), { limit }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'limit' },
      })
    }
  })

  it('list_tasks finds a rare task among very many in bounded steps', async () => {
    const { gate } = await open()
    const first = await ask(gate, { type: 'rare' })
    await askMany(gate, 12_000)
    const last = await ask(gate, { type: 'rare' })
    const found = await pages(gate, agent(), { type: 'rare' })
    expect(idsOf(found.flat())).toEqual(idsOf([last, first]))
    expect(found.length).toBeGreaterThan(1)
    expect(found.length).toBeLessThan(10)
    expect(idsOf((await gate.listTasks(agent(), { type: 'rare', limit: 1 })).tasks)).toEqual([last.task_id])
    expect((await pages(gate, agent(), { type: 'none' })).flat()).toEqual([])
  })
})
