import { expect, it } from 'vitest'
import { admin, agent, type Bench, describeGates } from '../../support/gates.ts'
import { ask, askMany, claim, failTask, finish, hold, lease, refusal, statusOf } from '../../support/steps.ts'

describeGates('child tasks', (open) => {
  type Gate = Bench['gate']
  const child = (gate: Gate, parent: { task_id: string }, fields: object = {}) =>
    ask(gate, { type: 'child', parent_task_id: parent.task_id, ...fields })
  const children = async (gate: Gate, { task_id }: { task_id: string }) =>
    (await gate.getTask(agent(), { task_id })).children
  const ended = async (gate: Gate, { task_id }: { task_id: string }) =>
    gate.waitForTask(agent(), { task_id, wait_seconds: 10 })

  it('a parent counts its children and what became of them', async () => {
    const { gate } = await open()
    const parent = await hold(gate)
    expect(await children(gate, parent)).toBeUndefined()
    await askMany(gate, 3, { type: 'child', parent_task_id: parent.task_id })
    expect(await children(gate, parent)).toEqual({ total: 3, done: 0, failed: 0 })
    const [a, b] = await claim(gate, { accept_types: ['child'], max_tasks: 2 })
    if (a === undefined || b === undefined) throw new Error('two tasks were not leased')
    await finish(gate, a)
    await failTask(gate, b)
    expect(await children(gate, parent)).toEqual({ total: 3, done: 2, failed: 1 })
    await finish(gate, parent)
    expect(await children(gate, parent)).toEqual({ total: 3, done: 2, failed: 1 })
  })

  it('children that fail or are canceled with their parent do so by their policy', async () => {
    const { gate } = await open()
    const parent = await hold(gate)
    const bound = await child(gate, parent, { parent_policy: 'cancel' })
    const grandchild = await child(gate, bound, { parent_policy: 'cancel' })
    const free = await child(gate, parent)
    await gate.cancelTask(agent(), { task_id: parent.task_id })
    const last = await ended(gate, grandchild)
    expect(last.status).toBe('canceled')
    expect(last.result?.error).toMatchObject({ code: 'PARENT_ENDED', task_id: bound.task_id })
    expect(await statusOf(gate, bound)).toBe('canceled')
    expect(await statusOf(gate, free)).toBe('queued')

    const second = await hold(gate)
    const running = await child(gate, second, { parent_policy: 'cancel' })
    await claim(gate, { accept_types: ['child'], max_tasks: 10 })
    await failTask(gate, second)
    expect((await ended(gate, running)).status).toBe('canceled')

    const third = await hold(gate)
    const survivor = await child(gate, third, { parent_policy: 'cancel' })
    await finish(gate, third)
    await gate.sweep()
    expect(await statusOf(gate, survivor)).toBe('queued')
  })

  it('a parent that has ended or belongs to another principal is only stored', async () => {
    const { gate } = await open()
    const foreign = await gate.createTask(agent('bob'), { type: 'x' })
    const labeled = await child(gate, foreign)
    expect((await gate.getTask(agent(), { task_id: labeled.task_id })).parent_task_id).toBe(foreign.task_id)
    expect((await gate.listChildren(admin(), { task_id: foreign.task_id })).children).toEqual([])
    expect((await child(gate, { task_id: 'project-7' })).status).toBe('queued')
    expect((await refusal(child(gate, foreign, { parent_policy: 'cancel' }))).code).toBe('VALIDATION_ERROR')
    expect((await refusal(ask(gate, { parent_policy: 'cancel' }))).code).toBe('VALIDATION_ERROR')
  })

  it('list_children returns pages, and get_task_tree all levels', async () => {
    const { gate } = await open()
    const root = await ask(gate, { type: 'root' })
    const ids = await askMany(gate, 5, { type: 'child', parent_task_id: root.task_id })
    const below = await ask(gate, { type: 'leaf', parent_task_id: ids[1] })
    const first = await gate.listChildren(agent(), { task_id: root.task_id, limit: 3 })
    expect(first.children.map(({ task_id }) => task_id)).toEqual(ids.slice(0, 3))
    expect(first.counts).toEqual({ total: 5, done: 0, failed: 0 })
    const rest = { task_id: root.task_id, limit: 3, cursor: first.next_cursor ?? '' }
    expect((await gate.listChildren(agent(), rest)).children.map(({ task_id }) => task_id)).toEqual(
      ids.slice(3),
    )

    const tree = await gate.getTaskTree(agent(), { task_id: root.task_id })
    expect(tree.is_complete).toBe(true)
    expect(tree.tasks.map(({ task_id, depth }) => [task_id, depth])).toEqual([
      [root.task_id, 0],
      [ids[0], 1],
      [ids[1], 1],
      [below.task_id, 2],
      ...ids.slice(2).map((id) => [id, 1]),
    ])
    expect(tree.tasks[3]).toMatchObject({ parent_task_id: ids[1], type: 'leaf', status: 'queued' })
    const cut = await gate.getTaskTree(agent(), { task_id: root.task_id, limit: 4 })
    expect(cut).toMatchObject({ is_complete: false, tasks: { length: 4 } })
    expect((await refusal(gate.getTaskTree(agent('bob'), { task_id: root.task_id }))).code).toBe('FORBIDDEN')
  })

  it('a child that also depends on its parent is released once', async () => {
    const { gate } = await open()
    const parent = await hold(gate)
    const fields = { parent_policy: 'cancel', depends_on: [{ task_id: parent.task_id }] }
    const next = await child(gate, parent, fields)
    await finish(gate, parent)
    expect((await lease(gate, { accept_types: ['child'] })).task_id).toBe(next.task_id)
  })
})
