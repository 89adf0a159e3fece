import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { agent, describeGates } from '../support/gates.ts'
import { askMany, soon } from '../support/steps.ts'
import { servers } from './support.ts'

const ALICE = { principal_id: 'alice' }

describeGates('cancel_tasks', (open) => {
  const serve = servers(open)

  it('cancel_tasks cancels and counts all matching tasks in one request', async () => {
    const served = await serve()
    await askMany(served.gate, 1600, { session_id: 's' })
    expect(await served.post('/v1/tasks/cancel', { ...ALICE, session_id: 's' })).toMatchObject({
      status: 200,
      body: { count: 1600, matched: 1600, skipped: 0, more: false, next_cursor: null },
    })
  })

  it('cancel_tasks stops when its client disconnects, and keeps completed cancellations', async () => {
    const served = await serve()
    await askMany(served.gate, 4000, { session_id: 's' })
    const leaving = new AbortController()
    let canceled = 0
    served.gate.onTask(({ status }) => {
      if (status === 'canceled') canceled++
      leaving.abort()
    })
    const request = fetch(`${served.url}/v1/tasks/cancel`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...ALICE, session_id: 's' }),
      signal: leaving.signal,
    })
    await expect(request).rejects.toThrow('abort')
    await soon(served.close())
    // The batch that was being committed when the client disconnected completes.
    let byThen = 0
    while (byThen < canceled) {
      byThen = canceled
      await delay(500)
    }
    expect(byThen).toBeGreaterThan(0)
    expect(byThen).toBeLessThan(4000)
    const { count } = await served.gate.cancelTasks(agent(), { session_id: 's' })
    expect(byThen + count).toBe(4000)
  })

  it('cancel_tasks responds with the cancellations so far when the server stops', async () => {
    const served = await serve()
    await askMany(served.gate, 4000, { session_id: 's' })
    const begun = new Promise<void>((resolve) => served.gate.onTask(() => resolve()))
    const request = served.post('/v1/tasks/cancel', { ...ALICE, session_id: 's' })
    await begun
    await soon(served.stop())
    const { status, body } = await request
    expect(status).toBe(200)
    expect(body.more).toBe(true)
    expect(body.count).toBeLessThan(4000)
  })
})
