import { expect, it } from 'vitest'
import type { Memory, MemoryNote } from '../../../src/features/results/result-store.ts'
import { resultsOnDisk } from '../../channels/store-on-disk.ts'
import { admin, agent, describeGates, worker } from '../../support/gates.ts'
import { ask, finish, hold, look, only, refusal } from '../../support/steps.ts'

class Notes implements Memory {
  readonly notes: MemoryNote[] = []

  async store(note: MemoryNote): Promise<string | null> {
    this.notes.push(note)
    return this.notes.length === 1 ? 'first' : null
  }
}

describeGates('promote_task_result', (open) => {
  it('promote_task_result stores the result in the memory and marks the inbox item', async () => {
    const memory = new Notes()
    const { gate, clock } = await open({ memory })
    const task = await hold(gate, { type: 'consult', principal_ai: 'bob' })
    await finish(gate, task)
    clock.advance(5)
    const promoted_at = new Date(clock.now).toISOString()
    expect(await gate.promoteTaskResult(agent(), { task_id: task.task_id })).toEqual({
      memory_id: 'first',
      promoted_at,
      is_archived: true,
      is_purged: false,
    })
    expect(memory.notes).toEqual([
      {
        kind: 'observation',
        domain: 'consult',
        dedupe_key: `asyncgate:task_complete:${task.task_id}`,
        principal_ai: 'bob',
        task_id: task.task_id,
        type: 'consult',
        completed_at: expect.any(String),
        content: { n: 1 },
        encoding: 'json',
        media_type: 'application/json',
        result_pointer: null,
      },
    ])
    const mine = only((await gate.listInbox(agent(), { state: 'promoted' })).items)
    expect(mine).toMatchObject({ promoted_at, archived_at: promoted_at, fetched_at: promoted_at })
    expect((await gate.listInbox(agent('bob'))).items).toMatchObject([{ promoted_at: null }])

    clock.advance(5)
    const again = await gate.promoteTaskResult(agent(), { task_id: task.task_id })
    expect(again).toMatchObject({ memory_id: null, promoted_at })
  })

  it('without archive the item stays in the inbox, and an admin marks the item of the owner', async () => {
    const memory = new Notes()
    const { gate } = await open({ memory })
    const task = await hold(gate)
    await finish(gate, task)
    const asked = { task_id: task.task_id, kind: 'pattern', domain: 'd', archive: false, purge: true }
    expect(await gate.promoteTaskResult(admin(), asked)).toMatchObject({
      promoted_at: expect.any(String),
      is_archived: false,
      // The task itself and its receipts store the result.
      is_purged: false,
    })
    expect(await look(gate, task)).toMatchObject({ result: { result: { n: 1 } } })
    expect(memory.notes).toMatchObject([{ kind: 'pattern', domain: 'd' }])
    expect((await gate.listInbox(agent(), { state: 'promoted' })).items).toMatchObject([
      { promoted_at: expect.any(String), archived_at: null, fetched_at: null },
    ])
  })

  it('with purge a result that is stored in a channel is removed', async () => {
    const { results, folder, blobs } = resultsOnDisk()
    const { gate } = await open({ memory: new Notes(), results, settings: { result_inline_max_bytes: 10 } })
    const task = await hold(gate)
    await finish(gate, task, { result: 'x'.repeat(100) })
    const { task_id } = task
    expect(blobs()).toHaveLength(1)
    expect(await gate.promoteTaskResult(agent(), { task_id, purge: true })).toMatchObject({ is_purged: true })
    expect(blobs()).toEqual([])
    expect(await refusal(gate.fetchTaskResult(agent(), { task_id }))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    folder.remove()
  })

  it('promote_task_result is refused without a memory, without a result, or without access to it', async () => {
    const { gate: bare } = await open()
    const { task_id } = await ask(bare)
    expect(await refusal(bare.promoteTaskResult(agent(), { task_id }))).toMatchObject({
      code: 'NOT_CONFIGURED',
      details: { settings: ['ASYNCGATE_MEMORY_URL'] },
    })
    const memory = new Notes()
    const { gate } = await open({ memory })
    const task = await hold(gate)
    const asked = { task_id: task.task_id }
    expect(await refusal(gate.promoteTaskResult(agent(), asked))).toMatchObject({
      code: 'RESULT_NOT_FOUND',
    })
    await finish(gate, task)
    for (const by of [agent('bob'), worker()]) {
      expect(await refusal(gate.promoteTaskResult(by, asked))).toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(memory.notes).toEqual([])
  })

  it('promote_task_result stores nothing of other tenants, whose agents may have the same names', async () => {
    const memory = new Notes()
    const { gate } = await open({ memory })
    const { task_id } = await ask(gate)
    const refused = await refusal(gate.promoteTaskResult(agent('alice', 'acme'), { task_id }))
    expect(refused).toMatchObject({ code: 'NOT_CONFIGURED' })
    expect(memory.notes).toEqual([])
  })

  it('promote_task_result refuses a result that is too large and does not remove it', async () => {
    const memory = new Notes()
    const { gate } = await open({
      memory,
      settings: { max_payload_bytes: 4 * 1024 * 1024, result_inline_max_bytes: 4 * 1024 * 1024 },
    })
    const task = await hold(gate)
    await finish(gate, task, { result: 'x'.repeat(1024 * 1024) })
    expect(
      await refusal(gate.promoteTaskResult(agent(), { task_id: task.task_id, purge: true })),
    ).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    })
    expect(memory.notes).toEqual([])
    expect((await gate.listInbox(agent(), { state: 'fetched' })).items).toMatchObject([{ promoted_at: null }])
  })
})

describeGates('active tasks', (open) => {
  it('active tasks are those that the principal owns or that are done on its behalf, until they end', async () => {
    const { gate } = await open()
    const mine = await ask(gate, { type: 'a' })
    const forBob = await ask(gate, { type: 'b', principal_ai: 'bob' })
    await ask(gate, {}, agent('carol'))
    const ids = async (by = agent(), input = {}) =>
      (await gate.activeTasks(by, input)).tasks.map((task) => task.task_id)
    expect(await ids()).toEqual([mine.task_id, forBob.task_id])
    expect(await ids(agent(), { type: 'b' })).toEqual([forBob.task_id])
    expect(await ids(agent(), { principal_ai: 'alice' })).toEqual([mine.task_id])
    expect(await ids(agent(), { limit: 1 })).toEqual([mine.task_id])
    expect(await ids(agent('bob'))).toEqual([forBob.task_id])
    await gate.cancelTask(agent(), { task_id: mine.task_id })
    expect(await ids()).toEqual([forBob.task_id])
  })

  it('active tasks do not include a success whose obligation is still open', async () => {
    const { gate } = await open()
    await finish(gate, await hold(gate), { artifacts: undefined })
    expect((await gate.listOpenObligations(agent())).open_obligations).toHaveLength(1)
    expect((await gate.activeTasks(agent())).tasks).toEqual([])
  })
})
