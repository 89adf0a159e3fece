import { expect, it } from 'vitest'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { ask, failTask, finish, held, hold, lease, look, only, refusal, soon } from '../../support/steps.ts'

describeGates('cancellation of a leased task', (open) => {
  const iso = (time: number) => new Date(time).toISOString()

  it('a cancellation shows its requester, and when the worker acknowledged and stopped', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    clock.advance(1)
    const requested = clock.now
    await gate.cancelTask(admin(), { task_id: offer.task_id, reason: 'not needed' })
    const cancellation = {
      requested_at: iso(requested),
      requested_by: { kind: 'human', id: 'root' },
      reason: 'not needed',
      acknowledged_at: null,
      stopped_at: null,
    }
    expect((await look(gate, offer)).cancellation).toEqual(cancellation)
    clock.advance(2)
    const heard = iso(clock.now)
    const report = { ...held(offer), stage: 'acknowledged' }
    expect(await gate.reportCancel(worker(), report)).toEqual({
      ok: true,
      acknowledged_at: heard,
      stopped_at: null,
    })
    clock.advance(3)
    const stopped = iso(clock.now)
    await gate.reportCancel(worker(), { ...held(offer), stage: 'stopped' })
    const whole = { ...cancellation, acknowledged_at: heard, stopped_at: stopped }
    expect((await look(gate, offer)).cancellation).toEqual(whole)
    expect(only((await gate.listTasks(agent())).tasks).cancellation).toEqual(whole)
    expect((await gate.waitForTask(agent(), { task_id: offer.task_id })).cancellation).toEqual(whole)
    expect((await gate.peekTask(agent(), { task_id: offer.task_id })).cancellation).toEqual(whole)
  })

  it('report_cancel keeps the first time of each stage, and stopped implies acknowledged', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate)
    await gate.cancelTask(agent(), { task_id: offer.task_id })
    const first = await gate.reportCancel(worker(), { ...held(offer), stage: 'stopped' })
    expect(first).toMatchObject({ acknowledged_at: iso(clock.now), stopped_at: iso(clock.now) })
    clock.advance(5)
    for (const stage of ['acknowledged', 'stopped']) {
      expect(await gate.reportCancel(worker(), { ...held(offer), stage })).toEqual(first)
    }
  })

  it('a refused call of the worker counts as its acknowledgement', async () => {
    const { gate, clock } = await open()
    const calls = {
      start: (offer) => gate.startTask(worker(), held(offer)),
      renew: (offer) => gate.renewLease(worker(), held(offer)),
      progress: (offer) => gate.reportProgress(worker(), { ...held(offer), progress: {} }),
      complete: (offer) => finish(gate, offer),
      fail: (offer) => failTask(gate, offer),
      release: (offer) => gate.releaseLease(worker(), held(offer)),
    } satisfies Record<string, (offer: Awaited<ReturnType<typeof hold>>) => Promise<unknown>>
    for (const [name, call] of Object.entries(calls)) {
      const offer = await hold(gate)
      await gate.cancelTask(agent(), { task_id: offer.task_id })
      clock.advance(1)
      await refusal(call(offer))
      const heard = async () => (await look(gate, offer)).cancellation?.acknowledged_at
      await soon(until(async () => (await heard()) !== null))
      expect([name, await heard()]).toEqual([name, iso(clock.now)])
      expect((await look(gate, offer)).cancellation?.stopped_at).toBeNull()
    }
  })

  it('report_cancel accepts only the worker that held the task, under that lease', async () => {
    const { gate, another } = await open()
    const offer = await hold(gate)
    const stage = 'stopped'
    expect(await refusal(gate.reportCancel(worker(), { ...held(offer), stage }))).toMatchObject({
      code: 'INVALID_STATE_TRANSITION',
      details: { status: 'leased' },
    })
    await gate.cancelTask(agent(), { task_id: offer.task_id })
    for (const [by, input] of [
      [worker('w2'), held(offer, 'w2')],
      [worker('w2'), held(offer)],
      [worker(), { ...held(offer), lease_id: 'another' }],
    ] as const) {
      expect(await refusal(gate.reportCancel(by, { ...input, stage }))).toMatchObject({
        code: 'LEASE_INVALID_OR_EXPIRED',
        details: { task_status: 'canceled' },
      })
      await refusal(gate.renewLease(by, input))
    }
    expect(await refusal(gate.reportCancel(agent(), { ...held(offer), stage }))).toMatchObject({
      code: 'FORBIDDEN',
    })
    const unknown = { ...held(offer), task_id: '01234567-89ab-7def-8123-456789abcdef', stage }
    expect(await refusal(gate.reportCancel(worker(), unknown))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await refusal(gate.reportCancel(worker(), { ...held(offer), stage: 'maybe' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
    await gate.close()
    const { gate: next } = await another()
    expect((await look(next, offer)).cancellation).toMatchObject({ acknowledged_at: null, stopped_at: null })
  })

  it('a task that no worker held, or that ended otherwise, has no cancellation', async () => {
    const { gate } = await open()
    const queued = await ask(gate)
    await gate.cancelTask(agent(), { task_id: queued.task_id })
    expect(await look(gate, queued)).not.toHaveProperty('cancellation')
    const done = await hold(gate)
    await finish(gate, done)
    expect(await look(gate, done)).not.toHaveProperty('cancellation')
    expect(await refusal(gate.reportCancel(worker(), { ...held(done), stage: 'stopped' }))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
      details: { task_status: 'succeeded' },
    })
  })

  it('a cancellation covers only the last lease', async () => {
    const { gate } = await open()
    const first = await hold(gate)
    await gate.releaseLease(worker(), held(first))
    const second = await lease(gate, {}, worker('w2'))
    await gate.cancelTask(caller('system', 'reaper', 'system'), { task_id: second.task_id })
    const stage = 'stopped'
    expect(await refusal(gate.reportCancel(worker(), { ...held(first), stage }))).toMatchObject({
      code: 'LEASE_INVALID_OR_EXPIRED',
    })
    expect(await gate.reportCancel(worker('w2'), { ...held(second, 'w2'), stage })).toMatchObject({
      ok: true,
    })
  })

  it('a cancellation survives a restart of the server', async () => {
    const { gate, another } = await open()
    const offer = await hold(gate)
    await gate.cancelTask(agent(), { task_id: offer.task_id })
    await refusal(gate.renewLease(worker(), held(offer)))
    // Acknowledgements learned from refusals are written before the gate has closed.
    await gate.close()
    const { gate: next } = await another()
    expect((await look(next, offer)).cancellation?.acknowledged_at).not.toBeNull()
  })
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}
