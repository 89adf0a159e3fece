import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { ask, askMany, failTask, finish, held, hold, refusal } from '../../support/steps.ts'

const NONE = {
  queued: 0,
  leased: 0,
  running: 0,
  pending_approval: 0,
  input_required: 0,
  succeeded: 0,
  failed: 0,
  canceled: 0,
  more: false,
}

describeGates('count_tasks', (open) => {
  it('count_tasks counts each status, for the owner and for admins', async () => {
    const { gate } = await open()
    expect(await gate.countTasks(agent())).toEqual(NONE)
    expect(await gate.countTasks(admin())).toEqual(NONE)
    const canceled = await ask(gate)
    await gate.cancelTask(agent(), { task_id: canceled.task_id })
    await finish(gate, await hold(gate))
    await failTask(gate, await hold(gate))
    const parked = await hold(gate)
    await gate.ask(worker(), { ...held(parked), kind: 'approval', request: { title: 'Go on?' } })
    const asking = await hold(gate)
    await gate.ask(worker(), { ...held(asking), kind: 'input', request: { message: 'Which one?' } })
    await gate.startTask(worker(), held(await hold(gate)))
    await hold(gate)
    await askMany(gate, 3)
    const own = {
      queued: 3,
      leased: 1,
      running: 1,
      pending_approval: 1,
      input_required: 1,
      succeeded: 1,
      failed: 1,
      canceled: 1,
      more: false,
    }
    expect(await gate.countTasks(agent())).toEqual(own)
    await ask(gate, {}, agent('bob'))
    await ask(gate, {}, agent('alice', 'other'))
    expect(await gate.countTasks(agent())).toEqual(own)
    expect(await gate.countTasks(admin())).toEqual({ ...own, queued: 4 })
    expect(await gate.countTasks(admin('other'))).toEqual({ ...NONE, queued: 1 })
  })

  it('count_tasks filters by type, creator, session and labels together', async () => {
    const { gate } = await open()
    await ask(gate, { type: 'a', session_id: 's', labels: { team: 'blue' } })
    await ask(gate, { type: 'b', session_id: 's' })
    await ask(gate, { type: 'a', session_id: 's' }, agent('bob'))
    await gate.createTask(caller('service', 'alice', 'system'), { type: 'a' })
    const queued = async (filter: object, by = admin()) => (await gate.countTasks(by, filter)).queued
    expect(await queued({ type: 'a' })).toBe(3)
    expect(await queued({ created_by: 'alice' })).toBe(2)
    expect(await queued({ created_by: 'service:alice' })).toBe(1)
    expect(await queued({ session_id: 's' })).toBe(3)
    expect(await queued({ session_id: 's' }, agent())).toBe(2)
    expect(await queued({ session_id: 's', type: 'a', created_by: 'bob' })).toBe(1)
    expect(await queued({ labels: { team: 'blue' } })).toBe(1)
    expect(await queued({ labels: { team: 'red' } })).toBe(0)
  })

  it('count_tasks refuses tasks of other agents and unknown fields', async () => {
    const { gate } = await open()
    expect(await refusal(gate.countTasks(agent(), { created_by: 'bob' }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    for (const [field, value] of [
      ['status', 'queued'],
      ['created_by', 'nobody:alice'],
      ['type', 7],
    ] as const) {
      expect(await refusal(gate.countTasks(admin(), { [field]: value })), field).toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    }
  })

  it('count_tasks stops at its limit and reports more', async () => {
    const { gate } = await open()
    await finish(gate, await hold(gate, { session_id: 'small' }))
    await askMany(gate, 10_001, { session_id: 'large' })
    expect(await gate.countTasks(admin())).toEqual({ ...NONE, queued: 10_000, succeeded: 1, more: true })
    expect(await gate.countTasks(agent())).toEqual({ ...NONE, queued: 10_000, more: true })
    expect(await gate.countTasks(agent(), { session_id: 'small' })).toEqual({ ...NONE, succeeded: 1 })
    expect(await gate.countTasks(agent(), { session_id: 'large' })).toMatchObject({ more: true })
    expect(await gate.countTasks(agent(), { type: 'rare' })).toEqual({ ...NONE, more: true })
  })
})
