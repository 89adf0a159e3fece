import { expect, it } from 'vitest'
import type { Gate } from '../../../../src/features/gate.ts'
import { admin, agent, caller, describeGates } from '../../../support/gates.ts'
import { ask, askMany, failTask, finish, hold, refusal } from '../../../support/steps.ts'

const idsOf = (tasks: readonly { task_id: string }[]) => tasks.map((task) => task.task_id)

async function found(gate: Gate, query: string, by = admin()) {
  return idsOf((await gate.listTasks(by, { query })).tasks)
}

describeGates('task search', (open) => {
  it('each qualifier selects the tasks that it names', async () => {
    const { gate, clock } = await open()
    const failed = await hold(gate, {
      type: 'mail.send',
      payload: { customer_id: 42, deep: { list: ['x'] } },
    })
    await failTask(gate, failed, { error: { message: 'SMTP says "no"' }, retryable: false })
    const done = await hold(gate, { type: 'mail.read', session_id: 's1', labels: { team: 'blue' } })
    await finish(gate, done)
    clock.advance(3600)
    const queued = await ask(gate, {
      type: 'report',
      summary: 'The Monthly report',
      payload: { customer_id: '42', is_paid: true, note: null },
      parent_task_id: done.task_id,
    })
    const ofBob = await ask(gate, { type: 'report', payload: { customer_id: 420 } }, agent('bob'))
    const cases: [string, readonly { task_id: string }[]][] = [
      ['', [ofBob, queued, done, failed]],
      ['type:report', [ofBob, queued]],
      ['type:mail.*', [done, failed]],
      ['-type:mail.* agent:alice', [queued]],
      ['status:failed,succeeded', [done, failed]],
      ['status:failed status:succeeded', []],
      ['-status:queued', [done, failed]],
      ['agent:bob', [ofBob]],
      ['agent:agent:bob,alice', [ofBob, queued, done, failed]],
      ['worker:w1', [done, failed]],
      ['worker:w2', []],
      ['session:s1', [done]],
      ['label.team:blue', [done]],
      ['label.team:b*', [done]],
      ['label.team:red', []],
      ['payload.customer_id:42', [queued, failed]],
      ['payload.customer_id:"42"', [queued]],
      ['payload.customer_id:42,420', [ofBob, queued, failed]],
      ['payload.deep.list.0:x', [failed]],
      ['payload.is_paid:true', [queued]],
      ['payload.note:null', [queued]],
      ['payload.absent:null', []],
      ['age:<10m', [ofBob, queued]],
      ['age:>10m', [done, failed]],
      ['-age:>10m', [ofBob, queued]],
      ['age:>10m age:<30m', []],
      ['error:smtp', [failed]],
      ['error:"says \\"no\\""', [failed]],
      ['error:smtp status:queued', []],
      ['monthly', [queued]],
      ['"monthly REPORT"', [queued]],
      ['monthly -type:report', []],
      [`id:${done.task_id}`, [done]],
      [queued.task_id.slice(0, 13), [ofBob, queued]],
      [`parent:${done.task_id}`, [queued]],
    ]
    for (const [query, tasks] of cases) {
      if (query === '') continue
      expect(await found(gate, query), query).toEqual(idsOf(tasks))
    }
  })

  it('the query and the other fields of a filter have to match', async () => {
    const { gate } = await open()
    const one = await ask(gate, { type: 'a', session_id: 's' })
    await ask(gate, { type: 'b', session_id: 's' })
    const filter = { session_id: 's', query: 'type:a' }
    expect(idsOf((await gate.listTasks(admin(), filter)).tasks)).toEqual([one.task_id])
    expect(await gate.countTasks(admin(), filter)).toMatchObject({ queued: 1, more: false })
    expect(await gate.cancelTasks(admin(), { ...filter, dry_run: true })).toMatchObject({ matched: 1 })
    expect(await gate.cancelTasks(admin(), { query: 'type:a' })).toMatchObject({ count: 1 })
    expect(await gate.countTasks(admin(), { query: 'session:s' })).toMatchObject({ queued: 1, canceled: 1 })
  })

  it('an agent finds only its own tasks, whatever it searches for', async () => {
    const { gate } = await open()
    await ask(gate, { payload: { secret: 1 } }, agent('bob'))
    const own = await ask(gate, { payload: { secret: 1 } })
    expect(await found(gate, 'payload.secret:1', agent())).toEqual([own.task_id])
    expect(await found(gate, 'agent:bob', agent())).toEqual([])
    expect(await gate.countTasks(agent(), { query: 'agent:bob' })).toMatchObject({ queued: 0 })
    expect(await found(gate, 'payload.secret:1', caller('human', 'eve', 'admin', 'other'))).toEqual([])
  })

  it('a query that is not valid is refused with the position of the bad part', async () => {
    const { gate } = await open()
    expect(await refusal(gate.listTasks(admin(), { query: 'type:a status:lost' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { path: 'query', position: 14, length: 4 },
    })
  })

  it('a search without an index reads a bounded number of tasks and continues at its cursor', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate, { payload: { rare: true } })
    await askMany(gate, 10_500)
    const first = await gate.listTasks(admin(), { query: 'payload.rare:true' })
    expect(first).toMatchObject({ tasks: [], scanned: 10_000, is_complete: false })
    const query = { query: 'payload.rare:true', cursor: first.next_cursor ?? '' }
    const second = await gate.listTasks(admin(), query)
    expect(second).toMatchObject({ tasks: [{ task_id }], next_cursor: null, is_complete: true })
    expect(await gate.countTasks(admin(), { query: 'payload.rare:true' })).toMatchObject({ more: true })
    expect(await gate.listTasks(admin(), { query: 'status:failed payload.rare:true' })).toMatchObject({
      scanned: 0,
      is_complete: true,
    })
  }, 60_000)

  it('old tasks are found by age and id without reading newer ones', async () => {
    const { gate, clock } = await open()
    const old = await askMany(gate, 3)
    clock.advance(3600)
    await askMany(gate, 2_000)
    const found = await gate.listTasks(admin(), { query: 'age:>30m' })
    expect(idsOf(found.tasks)).toEqual(old.toReversed())
    expect(found).toMatchObject({ scanned: 3, is_complete: true, next_cursor: null })
    const byId = await gate.listTasks(admin(), { query: `id:${old[0]?.slice(0, 13)}` })
    expect(byId).toMatchObject({ scanned: 3, is_complete: true })
  })

  it('several statuses are merged, newest first, over pages', async () => {
    const { gate } = await open()
    const all: string[] = []
    for (let i = 0; i < 12; i++) {
      const { task_id } = await ask(gate)
      if (i % 3 === 0) await gate.cancelTask(agent(), { task_id })
      all.unshift(task_id)
    }
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await gate.listTasks(admin(), {
        query: 'status:queued,canceled',
        limit: 5,
        ...(cursor && { cursor }),
      })
      seen.push(...idsOf(page.tasks))
      cursor = page.next_cursor
    }
    expect(seen).toEqual(all)
  })
})
