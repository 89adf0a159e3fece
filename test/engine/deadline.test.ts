import { expect, it } from 'vitest'
import type { Gate } from '../../src/features/gate.ts'
import { admin, agent, describeGates, worker } from '../support/gates.ts'
import { checkInvariants } from '../support/invariants.ts'
import { askInput } from '../support/questions.ts'
import {
  ask,
  at,
  claim,
  expire,
  failTask,
  finish,
  held,
  hold,
  lease,
  look,
  openTasks,
  receiptsOf,
  refusal,
  statusOf,
} from '../support/steps.ts'

const iso = (ms: number) => new Date(ms).toISOString()

/** The error, the terminal receipt and the closed obligation show that the task failed at its deadline. */
async function expectMissed(gate: Gate, task: { readonly task_id: string }, deadline_at: string) {
  const error = { code: 'DEADLINE_EXCEEDED', message: `The task did not end by ${deadline_at}.` }
  const view = await look(gate, task)
  expect(view).toMatchObject({ status: 'failed', deadline_at, result: { outcome: 'failed', error } })
  expect(view).not.toHaveProperty('dead_letter')
  const types = (await receiptsOf(gate, task)).map((each) => each.receipt_type)
  expect(types.slice(-2)).toEqual(['task.failed', 'task.result_ready'])
  expect(at(await receiptsOf(gate, task), -2)).toMatchObject({
    from: { kind: 'service', id: 'asyncgate' },
    body: { error, retry_recommended: false },
  })
  expect(await openTasks(gate)).not.toContain(task.task_id)
}

describeGates('deadline of a task', (open) => {
  it('the owner, the worker and the assignment receipt show the deadline in UTC', async () => {
    const { gate, clock } = await open()
    const utc = iso(clock.now + 3_600_000)
    const task = await ask(gate, { deadline_at: utc.replace('Z', '+00:00'), timeout_seconds: 60 })
    expect(await look(gate, task)).toMatchObject({ deadline_at: utc, timeout_at: null })
    expect(at(await receiptsOf(gate, task), 0)).toMatchObject({
      receipt_type: 'task.assigned',
      body: { timeouts: { execution: 60, deadline: utc } },
    })
    expect(await lease(gate)).toMatchObject({ deadline_at: utc })
    expect(await look(gate, await ask(gate))).toMatchObject({ deadline_at: null })
  })

  it('a queued task fails at its deadline, and others are not affected', async () => {
    const { gate, clock, store } = await open()
    const deadline_at = iso(clock.now + 60_000)
    const swept = await ask(gate, { deadline_at })
    const kept = await ask(gate, { type: 'other' })
    clock.advance(59)
    await gate.sweep()
    expect(await statusOf(gate, swept)).toBe('queued')
    clock.advance(1)
    expect(await gate.sweep()).toBe(1)
    await expectMissed(gate, swept, deadline_at)
    expect(await statusOf(gate, kept)).toBe('queued')
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it('a claim fails tasks past their deadline without a sweep, and returns the next task', async () => {
    const { gate, clock, store } = await open()
    const deadline_at = iso(clock.now + 60_000)
    const late = [await ask(gate, { deadline_at }), await ask(gate, { deadline_at })]
    const next = await ask(gate)
    clock.advance(60)
    expect(await claim(gate)).toMatchObject([{ task_id: next.task_id }])
    for (const task of late) await expectMissed(gate, task, deadline_at)
    expect(await claim(gate)).toEqual([])
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it('a task that is delayed after an expired lease fails at its deadline', async () => {
    const { gate, clock } = await open({ settings: { lease_requeue_delay_seconds: 3600 } })
    const deadline_at = iso(clock.now + 600_000)
    const offer = await hold(gate, { deadline_at }, { lease_ttl_seconds: 10 })
    clock.advance(10)
    await gate.sweep()
    expect(await look(gate, offer)).toMatchObject({ status: 'queued', next_eligible_at: deadline_at })
    clock.advance(590)
    await gate.sweep()
    await expectMissed(gate, offer, deadline_at)
  })

  it.each(['leased', 'running'])(
    'the deadline ends the lease of a %s task, and renewals never exceed it',
    async (status) => {
      const { gate, clock, store } = await open()
      const deadline_at = iso(clock.now + 100_000)
      const asked = { deadline_at, timeout_seconds: 1000 }
      const offer = await hold(gate, asked, { lease_ttl_seconds: 60 })
      const key = held(offer)
      if (status === 'running') await gate.startTask(worker(), key)
      clock.advance(50)
      expect(await gate.renewLease(worker(), { ...key, extend_by_seconds: 600 })).toMatchObject({
        expires_at: deadline_at,
      })
      clock.advance(50)
      expect(await refusal(finish(gate, offer))).toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
      await gate.sweep()
      await expectMissed(gate, offer, deadline_at)
      expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
    },
  )

  it('a task that waits for approval fails at its deadline, and its question expires', async () => {
    const { gate, clock, store } = await open()
    await gate.putPolicy(admin(), { id: 'ask', action: 'REQUIRE_APPROVAL', scope: { type: '*' } })
    const deadline_at = iso(clock.now + 60_000)
    const [swept, answered] = [await ask(gate, { deadline_at }), await ask(gate, { deadline_at })]
    expect(await look(gate, swept)).toMatchObject({
      status: 'pending_approval',
      question: { expires_at: deadline_at },
    })
    clock.advance(60)
    // An approval at the instant of the deadline is refused, with or without a sweep.
    expect(await refusal(gate.approve(admin(), { task_id: answered.task_id }))).toMatchObject({
      code: 'ALREADY_DECIDED',
    })
    await gate.sweep()
    for (const task of [swept, answered]) await expectMissed(gate, task, deadline_at)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it('a task that waits for input fails at its deadline', async () => {
    const { gate, clock, store } = await open()
    const deadline_at = iso(clock.now + 60_000)
    const offer = await hold(gate, { deadline_at })
    await askInput(gate, offer)
    expect(await look(gate, offer)).toMatchObject({ status: 'input_required' })
    await expire(gate, clock)
    await expectMissed(gate, offer, deadline_at)
    expect(await checkInvariants(store, await store.tenant('default'))).toEqual([])
  })

  it('a failed task is not retried when the retry would begin at or after the deadline', async () => {
    const { gate, clock } = await open()
    const deadline_at = iso(clock.now + 60_000)
    const offer = await hold(gate, { deadline_at, max_attempts: 5 })
    const error = { code: 'BUSY', message: 'later' }
    expect(await failTask(gate, offer, { error, retryable: true, retry_after_seconds: 59 })).toMatchObject({
      requeued: true,
    })
    clock.advance(59)
    await gate.sweep()
    const again = await lease(gate)
    expect(again).toMatchObject({ task_id: offer.task_id, expires_in_ms: 1000 })
    expect(await failTask(gate, again, { error, retryable: true, retry_after_seconds: 1 })).toMatchObject({
      requeued: false,
    })
    expect(await look(gate, offer)).toMatchObject({ status: 'failed', result: { error } })
  })

  it('the deadline does not affect a task that has ended', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { deadline_at: iso(clock.now + 60_000) })
    await finish(gate, offer)
    await expire(gate, clock)
    expect(await statusOf(gate, offer)).toBe('succeeded')
  })

  it('the deadline survives a restart', async () => {
    const { gate, clock, another } = await open()
    const deadline_at = iso(clock.now + 60_000)
    const task = await ask(gate, { deadline_at })
    await gate.close()
    const { gate: restarted } = await another()
    clock.advance(60)
    await restarted.sweep()
    await expectMissed(restarted, task, deadline_at)
  })

  it('retry_task creates a task without the deadline, or with a new one', async () => {
    const { gate, clock } = await open()
    const task = await ask(gate, { deadline_at: iso(clock.now + 60_000), payload: { n: 1 } })
    await expire(gate, clock)
    expect(await statusOf(gate, task)).toBe('failed')
    const free = await gate.retryTask(agent(), { task_id: task.task_id })
    expect(await look(gate, free)).toMatchObject({ status: 'queued', deadline_at: null, payload: { n: 1 } })
    const deadline_at = iso(clock.now + 60_000)
    const bound = await gate.retryTask(agent(), { task_id: task.task_id, deadline_at })
    expect(await look(gate, bound)).toMatchObject({ deadline_at })
  })

  it('a deadline that is past, too far ahead or malformed is refused and creates nothing', async () => {
    const { gate, clock, store } = await open()
    const year = 365 * 24 * 3600 * 1000
    const wrong = [
      [{ deadline_at: iso(clock.now) }, 'is not in the future'],
      [{ deadline_at: iso(clock.now + year + 1) }, 'is more than 365 days ahead'],
      [{ deadline_at: iso(clock.now + 60_000), delay_seconds: 60 }, 'is not after the end of delay_seconds'],
      [{ deadline_at: 'tomorrow' }, ''],
      [{ deadline_at: clock.now + 60_000 }, ''],
      [{ deadline_at: null }, ''],
    ] as const
    for (const [input, problem] of wrong) {
      expect(await refusal(ask(gate, input))).toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining(problem),
        details: { path: 'deadline_at' },
      })
    }
    expect((await store.reads.counters((await store.tenant('default')).tenant)).seq).toBe(0)
    const latest = await ask(gate, { deadline_at: iso(clock.now + year) })
    expect(await statusOf(gate, latest)).toBe('queued')
  })

  it('the idempotency key returns the same task after the deadline', async () => {
    const { gate, clock } = await open()
    const input = { deadline_at: iso(clock.now + 60_000), idempotency_key: 'k' }
    const { task_id } = await ask(gate, input)
    await expire(gate, clock)
    expect(await ask(gate, input)).toMatchObject({ task_id, is_duplicate: true, status: 'failed' })
  })
})
