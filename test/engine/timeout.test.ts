import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { ask, at, failTask, hold, lease, look, openTasks, receiptsOf } from '../support/steps.ts'

describeGates('execution timeout', (open) => {
  it('a lease ends at the timeout, and the task is retried like a failure', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { timeout_seconds: 60 }, { lease_ttl_seconds: 600 })
    expect(offer).toMatchObject({ expires_in_ms: 60_000, timeout_seconds: 60 })
    expect(await look(gate, offer)).toMatchObject({ timeout_at: offer.expires_at })
    clock.advance(60)
    await gate.sweep()
    expect(await look(gate, offer)).toMatchObject({
      status: 'queued',
      attempt: 1,
      expiry_count: 0,
      timeout_at: null,
      next_eligible_at: new Date(clock.now + 15_000).toISOString(),
    })
    expect(at(await receiptsOf(gate, offer), -1)).toMatchObject({
      receipt_type: 'task.retry_scheduled',
      from: { kind: 'service', id: 'asyncgate' },
      body: { error: { code: 'EXECUTION_TIMEOUT' } },
    })
  })

  it('a timeout of the last attempt fails the task as a dead letter', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { timeout_seconds: 60, max_attempts: 1 })
    clock.advance(60)
    await gate.sweep()
    expect(await look(gate, offer)).toMatchObject({
      status: 'failed',
      dead_letter: true,
      result: { error: { code: 'EXECUTION_TIMEOUT' } },
    })
    expect(await openTasks(gate)).toEqual([])
  })

  it('each attempt has the full timeout', async () => {
    const { gate, clock } = await open()
    const first = await hold(gate, { timeout_seconds: 100 })
    clock.advance(90)
    await failTask(gate, first, { retryable: true, retry_after_seconds: 0 })
    expect(await lease(gate)).toMatchObject({ expires_in_ms: 100_000 })
  })

  it('the default timeout applies to a task without its own', async () => {
    const { gate, clock } = await open({ settings: { default_timeout_seconds: 300 } })
    const own = await ask(gate, { timeout_seconds: 60 })
    expect(await look(gate, own)).toMatchObject({ timeout_seconds: 60, timeout_at: null })
    expect(await lease(gate)).toMatchObject({ timeout_seconds: 60 })
    const offer = await hold(gate, {}, { lease_ttl_seconds: 1200 })
    expect(offer).toMatchObject({ expires_in_ms: 300_000, timeout_seconds: 300 })
    expect(await look(gate, offer)).toMatchObject({ timeout_seconds: 300, timeout_at: offer.expires_at })
    clock.advance(300)
    await gate.sweep()
    expect(await look(gate, offer)).toMatchObject({ status: 'queued', attempt: 1 })
  })

  it('a task has no timeout by default', async () => {
    const { gate } = await open()
    const offer = await hold(gate, {}, { lease_ttl_seconds: 1200 })
    expect(offer).toMatchObject({ expires_in_ms: 1_200_000, timeout_seconds: null })
    expect(await look(gate, offer)).toMatchObject({ timeout_seconds: null, timeout_at: null })
  })

  it('a lease that expired before the timeout counts as an expiry, even if it is detected later', async () => {
    const { gate, clock } = await open()
    const offer = await hold(gate, { timeout_seconds: 600, max_attempts: 1 }, { lease_ttl_seconds: 10 })
    clock.advance(3600)
    await gate.sweep()
    expect(await look(gate, offer)).toMatchObject({ status: 'queued', attempt: 0, expiry_count: 1 })
  })
})
