import { expect, it } from 'vitest'
import { NO_RATE_LIMITS } from '../../../src/features/limits/rate-limits.ts'
import { admin, agent, caller, describeGates } from '../../support/gates.ts'
import { ask, askMany, failTask, finish, lease, refusal } from '../../support/steps.ts'

describeGates('agents', (open) => {
  it('shows what waits, runs and has ended of each owner, the most open tasks first', async () => {
    const { gate } = await open()
    await ask(gate, { type: 'done' }, agent('bob'))
    await finish(gate, await lease(gate, { accept_types: ['done'] }))
    await ask(gate, { type: 'bad', max_attempts: 1 }, agent('bob'))
    await failTask(gate, await lease(gate, { accept_types: ['bad'] }))
    await askMany(gate, 3, { type: 'slow' })
    await lease(gate, { accept_types: ['slow'] })
    await ask(gate, { type: 'other' }, agent('bob'))
    await lease(gate, { accept_types: ['other'] })
    await gate.putPolicy(admin(), { id: 'pay', action: 'REQUIRE_APPROVAL', scope: { type: 'pay' } })
    await ask(gate, { type: 'pay' })
    const { agents, more } = await gate.listAgents(admin(), {})
    expect(more).toBe(false)
    expect(agents).toMatchObject([
      {
        ...{
          principal: { kind: 'agent', id: 'alice' },
          open: 4,
          waiting: 2,
          running: 1,
          pending_approval: 1,
        },
        ...{ share: 0.5, throttled: false, rate_limit: null },
      },
      { principal: { kind: 'agent', id: 'bob' }, open: 1, running: 1, share: 0.5, succeeded: 1, failed: 1 },
    ])
    const { agents: one } = await gate.listAgents(admin(), { principal: 'bob' })
    expect(one).toEqual(agents.slice(1))
    expect((await gate.listAgents(admin(), { limit: 1 })).more).toBe(true)
    expect(await refusal(gate.listAgents(admin(), { principal: 'x:y' }))).toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('an agent whose calls are used up is throttled, and reading it costs no call', async () => {
    const { gate } = await open({
      rateLimits: { ...NO_RATE_LIMITS, isEnabled: true, principal: { calls: 2, window_seconds: 3600 } },
    })
    const origin = { request_id: 'r', ip: '127.0.0.1', user_agent: null, forwarded_for: null }
    const alice = () => ({ ...agent(), origin: { ...origin } })
    await gate.createTask(alice(), { type: 'job' })
    const remaining = async () => (await gate.listAgents(admin(), {})).agents[0]
    expect(await remaining()).toMatchObject({ throttled: false, rate_limit: { limit: 2, remaining: 1 } })
    await gate.createTask(alice(), { type: 'job' })
    expect(await remaining()).toMatchObject({ throttled: true, rate_limit: { remaining: 0 } })
    expect(await remaining()).toMatchObject({ rate_limit: { remaining: 0 } })
  })

  it('agents cannot list the others', async () => {
    const { gate } = await open()
    expect(await refusal(gate.listAgents(agent(), {}))).toMatchObject({ code: 'FORBIDDEN' })
    expect((await gate.listAgents(caller('human', 'vic', 'viewer'), {})).agents).toEqual([])
  })
})
