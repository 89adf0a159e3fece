import { expect, it } from 'vitest'
import { describeGates, worker } from '../support/gates.ts'
import { ask, claim, finish, held, hold, look, refusal, soon } from '../support/steps.ts'

describeGates('task events', (open) => {
  it('each committed change emits an event, in order, until the listener unsubscribes', async () => {
    const { gate } = await open()
    const seen: unknown[] = []
    const stop = gate.onTask(({ task_id, status, type, owner, worker_id }) =>
      seen.push({ task_id, status, type, owner, worker_id }),
    )
    const offer = await hold(gate)
    await gate.startTask(worker(), held(offer))
    await finish(gate, offer)
    const { task_id } = offer
    const common = { task_id, type: 'job', owner: 'agent:alice' }
    expect(seen).toEqual([
      { ...common, status: 'queued', worker_id: null },
      { ...common, status: 'leased', worker_id: 'w1' },
      { ...common, status: 'running', worker_id: 'w1' },
      { ...common, status: 'succeeded', worker_id: 'w1' },
    ])
    stop()
    await ask(gate)
    expect(seen).toHaveLength(4)
  })

  it('refused calls and empty claims emit no events', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const seen: unknown[] = []
    gate.onTask((event) => seen.push(event))
    await refusal(gate.renewLease(worker('w2'), held(offer)))
    await refusal(ask(gate, { type: '' }))
    await claim(gate)
    expect(seen).toEqual([])
  })

  it('a listener that throws affects neither other listeners nor the gate', async () => {
    const { gate, errors } = await open()
    const seen: string[] = []
    gate.onTask(() => {
      throw new Error('a bug of the listener')
    })
    gate.onTask((event) => seen.push(event.status))
    const offer = await soon(hold(gate))
    await soon(finish(gate, offer))
    expect(seen).toEqual(['queued', 'leased', 'succeeded'])
    expect(errors).toHaveLength(3)
    expect(await look(gate, offer)).toMatchObject({ status: 'succeeded' })
  })
})
