import { afterEach, expect, it, vi } from 'vitest'
import { agent, describeGates, worker } from '../../support/gates.ts'
import { pending, person } from '../../support/questions.ts'
import {
  ask,
  failTask,
  finish,
  HintProbe,
  held,
  hold,
  lease,
  override,
  refusal,
  soon,
} from '../../support/steps.ts'

describeGates('wait_for_task', (open, storeName) => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** Disables the periodic read of the store, so that only events can end a wait. */
  const disablePolling = () => {
    vi.spyOn(globalThis, 'setInterval').mockImplementation(() => setTimeout(() => {}, 0))
  }

  it('wait_for_task returns immediately when the task has ended', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    await finish(gate, offer)
    expect(await soon(gate.waitForTask(agent(), { task_id: offer.task_id }))).toMatchObject({
      done: true,
      status: 'succeeded',
      result: { result: { n: 1 } },
      next_check_after_seconds: 0,
    })
  })

  it('wait_for_task returns when the task ends, in any way', async () => {
    disablePolling()
    const { gate, clock } = await open()
    const endings = [
      ['succeeded', finish],
      ['failed', failTask],
      ['canceled', (_: unknown, { task_id }: { task_id: string }) => gate.cancelTask(agent(), { task_id })],
    ] as const
    for (const [status, end] of endings) {
      const offer = await hold(gate)
      const waits = [agent(), worker()].map((by) =>
        gate.waitForTask(by, { task_id: offer.task_id, wait_seconds: 50 }),
      )
      await gate.startTask(worker(), held(offer))
      await end(gate, offer)
      for (const answer of await soon(Promise.all(waits)))
        expect(answer).toMatchObject({ done: true, status })
    }
    const lost = await hold(gate, { max_expiries: 1 })
    const waiting = gate.waitForTask(agent(), { task_id: lost.task_id, wait_seconds: 50 })
    await gate.getTask(agent(), { task_id: lost.task_id })
    clock.advance(120)
    await gate.sweep()
    expect(await soon(waiting)).toMatchObject({ done: true, status: 'failed', dead_letter: true })
  })

  it('wait_for_task with until: done continues through questions until the task has ended', async () => {
    const { gate, another } = await open()
    const { offer, task_id } = await pending(gate)
    const elsewhere = storeName === 'postgres' ? (await another()).gate : gate
    const waits = [gate, elsewhere].map((server) =>
      server.waitForTask(agent(), { task_id, wait_seconds: 50, until: 'done' }),
    )
    expect(await soon(gate.waitForTask(agent(), { task_id, wait_seconds: 50 }))).toMatchObject({
      done: false,
      status: 'pending_approval',
    })
    await gate.approve(person(), { task_id })
    const again = await lease(gate)
    expect(again.task_id).toBe(offer.task_id)
    await finish(gate, again)
    for (const answer of await soon(Promise.all(waits))) {
      expect(answer).toMatchObject({ done: true, status: 'succeeded' })
    }
  })

  it('wait_for_task returns a parked task when the time is over or the caller disconnects', async () => {
    const { gate } = await open()
    const { task_id } = await pending(gate)
    const wait = { task_id, until: 'done' }
    const late = gate.waitForTask(agent(), { ...wait, wait_seconds: 0.02 })
    expect(await soon(late)).toMatchObject({ done: false, status: 'pending_approval' })
    const left = gate.waitForTask(agent(), { ...wait, wait_seconds: 50 }, AbortSignal.timeout(20))
    expect(await soon(left)).toMatchObject({ done: false })
  })

  it('wait_for_task continues through retries', async () => {
    const { gate } = await open()
    const offer = await hold(gate)
    const waiting = gate.waitForTask(agent(), { task_id: offer.task_id, wait_seconds: 50 })
    await failTask(gate, offer, { retryable: true, retry_after_seconds: 0 })
    const again = await lease(gate)
    await finish(gate, again)
    expect(await soon(waiting)).toMatchObject({ status: 'succeeded', attempt: 1 })
  })

  it('wait_for_task returns done: false when the time is over', async () => {
    const { gate } = await open()
    const task = await ask(gate)
    for (const wait_seconds of [0, 0.05]) {
      expect(await soon(gate.waitForTask(agent(), { task_id: task.task_id, wait_seconds }))).toMatchObject({
        done: false,
        status: 'queued',
        next_check_after_seconds: expect.any(Number),
      })
    }
  })

  it('wait_for_task returns when its caller has disconnected or the gate closes', async () => {
    disablePolling()
    const { gate } = await open()
    const { task_id } = await ask(gate)
    const leaving = new AbortController()
    const input = { task_id, wait_seconds: 50 }
    const waiting = gate.waitForTask(agent(), input, leaving.signal)
    await gate.getTask(agent(), { task_id })
    leaving.abort()
    expect(await soon(waiting)).toMatchObject({ done: false })
    expect(await soon(gate.waitForTask(agent(), input, AbortSignal.abort()))).toMatchObject({ done: false })
    const last = gate.waitForTask(agent(), input)
    await gate.getTask(agent(), { task_id })
    const closed = gate.close()
    expect(await soon(last)).toMatchObject({ done: false })
    await closed
  })

  it('wait_for_task refuses a missing or unreadable task without waiting', async () => {
    const { gate } = await open()
    const { task_id } = await ask(gate)
    expect(await refusal(soon(gate.waitForTask(agent('bob'), { task_id })))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await refusal(soon(gate.waitForTask(agent('alice', 'other'), { task_id })))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    for (const wait_seconds of [-1, 50.1, '5']) {
      expect(await refusal(gate.waitForTask(agent(), { task_id, wait_seconds }))).toMatchObject({
        code: 'VALIDATION_ERROR',
        details: { path: 'wait_seconds' },
      })
    }
  })

  it.runIf(storeName === 'postgres')('wait_for_task returns when another process ends the task', async () => {
    disablePolling()
    const probe = new HintProbe()
    const { gate, another } = await open({ wrap: probe.wrap })
    const { gate: elsewhere } = await another()
    await probe.open(elsewhere)
    const offer = await hold(gate)
    const waiting = gate.waitForTask(agent(), { task_id: offer.task_id, wait_seconds: 50 })
    await gate.getTask(agent(), { task_id: offer.task_id })
    await finish(elsewhere, offer)
    expect(await soon(waiting)).toMatchObject({ done: true, status: 'succeeded' })
  })

  it.runIf(storeName === 'postgres')(
    'wait_for_task notices a change of another process whose notification is lost',
    async () => {
      const { gate, another } = await open({ wrap: (store) => override(store, { listen: () => {} }) })
      const { gate: elsewhere } = await another()
      const offer = await hold(gate)
      const waiting = gate.waitForTask(agent(), { task_id: offer.task_id, wait_seconds: 50 })
      await finish(elsewhere, offer)
      expect(await soon(waiting)).toMatchObject({ done: true, status: 'succeeded' })
    },
  )
})
