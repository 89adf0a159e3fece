import { expect, it } from 'vitest'
import type { Gate } from '../../../src/features/gate.ts'
import { admin, agent, caller, describeGates, worker } from '../../support/gates.ts'
import { ask, askMany, failTask, finish, held, lease, refusal } from '../../support/steps.ts'

const NOTHING = { created: 0, succeeded: 0, failed: 0, canceled: 0 }

async function history(gate: Gate, period = 'hour') {
  await gate.history.flush()
  return gate.getHistory(admin(), { period })
}

describeGates('history of tasks', (open, storeName) => {
  it('what becomes of tasks is counted in the minute in which it happens', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 3)
    clock.advance(20)
    const [first, second] = [await lease(gate), await lease(gate)]
    await gate.startTask(worker(), held(first))
    clock.advance(60)
    await finish(gate, first)
    await failTask(gate, second, { retryable: false })
    const { rows, totals, row_seconds } = await history(gate)
    expect(row_seconds).toBe(60)
    expect(rows).toHaveLength(60)
    expect(rows.at(-2)).toMatchObject({ ...NOTHING, created: 3, run_p50: null })
    expect(rows.at(-1)).toMatchObject({ ...NOTHING, succeeded: 1, failed: 1, wait_p50: null })
    expect(totals).toMatchObject({ created: 3, succeeded: 1, failed: 1, canceled: 0 })
    // 20 s is between 10 and 30 s, and 60 s between 30 and 100 s.
    expect(rows.at(-2)?.wait_p95).toSatisfy((wait) => wait >= 10 && wait <= 30)
    expect(rows.at(-1)?.run_p50).toSatisfy((run) => run >= 30 && run <= 100)
  })

  it('canceled tasks count once, and waits of later leases do not count', async () => {
    const { gate, clock } = await open()
    const { task_id } = await ask(gate)
    const offer = await lease(gate)
    await gate.releaseLease(worker(), held(offer))
    clock.advance(3600)
    await lease(gate)
    await gate.cancelTask(agent(), { task_id })
    await gate.cancelTask(agent(), { task_id })
    const { totals } = await history(gate, 'day')
    expect(totals).toMatchObject({ ...NOTHING, created: 1, canceled: 1 })
    expect(totals.wait_p95).toBeLessThan(1)
  })

  it('the history of the last day and month has longer rows and the same totals', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 2)
    clock.advance(5 * 3600)
    await askMany(gate, 4)
    const day = await history(gate, 'day')
    expect(day.rows.map(({ created }) => created).filter(Boolean)).toEqual([2, 4])
    expect(day.rows).toHaveLength(96)
    const month = await history(gate, 'month')
    expect(month).toMatchObject({ row_seconds: 21_600, totals: { created: 6 } })
    expect((await history(gate)).totals.created).toBe(4)
  })

  it('the history outlives a restart and has the tasks of all servers', async () => {
    const bench = await open()
    await askMany(bench.gate, 2)
    if (storeName === 'sqlite') {
      // Only one server uses a file, so this one stops first.
      await bench.gate.close()
    }
    const { gate } = await bench.another()
    await askMany(gate, 3)
    await bench.gate.history.flush()
    expect((await history(gate)).totals.created).toBe(5)
  })

  it('minutes are removed after two days and hours after a month', async () => {
    const { gate, clock } = await open()
    await askMany(gate, 2)
    await gate.history.flush()
    clock.advance(2 * 86_400 - 120)
    expect(await gate.history.sweep()).toBe(0)
    clock.advance(240)
    expect(await gate.history.sweep()).toBe(1)
    expect((await history(gate, 'month')).totals.created).toBe(2)
    clock.advance(30 * 86_400)
    expect(await gate.history.sweep()).toBe(1)
  })

  it('tenants have separate histories, and agents and workers see none', async () => {
    const { gate } = await open()
    await ask(gate, {}, agent('alice', 'acme'))
    await gate.history.flush()
    expect((await gate.getHistory(admin(), {})).totals.created).toBe(0)
    expect((await gate.getHistory(admin('acme'), {})).totals.created).toBe(1)
    expect((await gate.getHistory(admin(), { tenant: 'acme' })).totals.created).toBe(1)
    const viewer = caller('human', 'vic', 'viewer')
    expect(await refusal(gate.getHistory(viewer, { tenant: 'acme' }))).toMatchObject({ code: 'FORBIDDEN' })
    expect((await gate.getHistory(caller('human', 'vic', 'viewer'), {})).totals.created).toBe(0)
    for (const by of [agent(), worker()]) {
      expect(await refusal(gate.getHistory(by, {}))).toMatchObject({ code: 'FORBIDDEN' })
    }
    expect(await refusal(gate.getHistory(admin(), { period: 'week' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })
})
