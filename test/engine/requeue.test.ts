import { expect, it } from 'vitest'
import { describeGates } from '../support/gates.ts'
import { claim, finish, hold, lease, look } from '../support/steps.ts'

describeGates('requeue after the end of a lease', (open) => {
  const waitOf = (task: { readonly next_eligible_at: string | null }, now: number) =>
    Date.parse(task.next_eligible_at ?? '') - now

  it('a task stays unavailable for the grace period after its lease expires, and its worker is refused', async () => {
    const { gate, clock } = await open({ settings: { lease_grace_seconds: 10 } })
    const offer = await hold(gate)
    clock.advance(120)
    await expect(finish(gate, offer)).rejects.toMatchObject({ code: 'LEASE_INVALID_OR_EXPIRED' })
    await gate.sweep()
    const wait = waitOf(await look(gate, offer), clock.now)
    expect(wait).toBeGreaterThanOrEqual(10_000)
    expect(wait).toBeLessThan(15_000)
    clock.advance(9.999)
    expect(await claim(gate)).toEqual([])
    clock.advance(5.001)
    expect(await lease(gate)).toMatchObject({ task_id: offer.task_id, attempt: 0 })
  })

  it('the grace period counts from the end of the lease, not from its detection', async () => {
    const { gate, clock } = await open({ settings: { lease_grace_seconds: 10 } })
    const offer = await hold(gate)
    clock.advance(3600)
    await gate.sweep()
    expect(waitOf(await look(gate, offer), clock.now)).toBeLessThan(5000)
  })

  it('the grace period applies after a timeout unless the backoff is longer', async () => {
    const { gate, clock } = await open({ settings: { lease_grace_seconds: 20 } })
    const [short, long] = [
      await hold(gate, { timeout_seconds: 60, retry_backoff_seconds: 5 }),
      await hold(gate, { timeout_seconds: 60, retry_backoff_seconds: 30 }),
    ]
    clock.advance(60)
    await gate.sweep()
    expect(waitOf(await look(gate, short), clock.now)).toBe(20_000)
    expect(waitOf(await look(gate, long), clock.now)).toBe(30_000)
  })

  it('the configured requeue delay is added to the grace period and the jitter', async () => {
    const { gate, clock } = await open({
      settings: { lease_requeue_delay_seconds: 30, lease_grace_seconds: 10 },
    })
    const offer = await hold(gate)
    clock.advance(120)
    await gate.sweep()
    const wait = waitOf(await look(gate, offer), clock.now)
    expect(wait).toBeGreaterThanOrEqual(40_000)
    expect(wait).toBeLessThan(45_000)
  })
})
