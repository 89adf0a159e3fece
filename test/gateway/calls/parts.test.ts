import { describe, expect, it } from 'vitest'
import { upstreamName } from '../../../src/cli/commands/gateway/name.ts'
import { reportConfig } from '../../../src/config/index.ts'
import { Due } from '../../../src/gateway/calls/due.ts'
import { SessionLanes } from '../../../src/gateway/calls/session.ts'
import { Slots } from '../../../src/gateway/calls/slots.ts'
import { deferred } from '../../../src/util/abort.ts'
import { Semaphore } from '../../../src/util/semaphore.ts'
import { GATEWAY_DEFAULTS, until } from './support.ts'

describe('gateway settings', () => {
  it('the gateway settings have the documented defaults', () => {
    const { config } = reportConfig({ env: {}, file: '/dev/null' })
    expect(config?.server).toMatchObject(GATEWAY_DEFAULTS)
  })
})

describe('session lanes', () => {
  const nowhere = () => false

  it('a session gets the same lane again, and no two sessions share one', () => {
    const lanes = new SessionLanes(3)
    const first = lanes.take('a', nowhere)
    lanes.release(first ?? 0)
    expect(lanes.take('a', nowhere)).toBe(first)
    const others = ['b', 'c'].map((id) => lanes.take(id, nowhere))
    expect(new Set([first, ...others])).toEqual(new Set([1, 2, 3]))
    expect(lanes.take('d', nowhere)).toBeUndefined()
  })

  it('lanes that a session of another server uses are taken last', () => {
    const lanes = new SessionLanes(3)
    expect(lanes.take('a', (lane) => lane !== 2)).toBe(2)
    expect([1, 3]).toContain(lanes.take('a', () => true))
  })
})

describe('calls with a delay', () => {
  it('the callback gets the lane and the number of calls that are due', async () => {
    const reported: [number, number][] = []
    const due = new Due((lane, count) => reported.push([lane, count]))
    due.add(1, 60)
    due.add(2, 5)
    due.add(1, 60)
    due.add(3, 3_600_000_000)
    const total = () => reported.reduce((sum, [, count]) => sum + count, 0)
    await until(() => total() === 3)
    expect(reported[0]).toEqual([2, 1])
    // One callback or two, depending on the clock.
    expect(reported.slice(1).every(([lane]) => lane === 1)).toBe(true)
    expect(due.size).toBe(1)
    due.stop()
    expect(due.size).toBe(0)
  })
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Slots over a queue that the test controls. Each claim waits until the test resolves it. */
function slotsOver(permits: Semaphore, limit = 3) {
  const claims: ReturnType<typeof deferred<string | undefined>>[] = []
  const making: ReturnType<typeof deferred<void>>[] = []
  const slots = new Slots({
    limit: () => limit,
    permits,
    claim() {
      const claim = deferred<string | undefined>()
      claims.push(claim)
      return claim.promise
    },
    make() {
      const made = deferred<void>()
      making.push(made)
      return made.promise
    },
    report() {},
  })
  return {
    slots,
    claims,
    making,
    async wake(count?: number) {
      slots.wake(count)
      await turn()
    },
    async answer(call: string | undefined) {
      claims.shift()?.resolve(call)
      await turn()
    },
    async finish() {
      making.shift()?.resolve()
      await turn()
    },
  }
}

/** Slots do not inspect the call. */
const CALL = 'a call'

describe('call slots', () => {
  it('slots claim once for each announced call', async () => {
    const { slots, claims, wake, answer, finish } = slotsOver(new Semaphore(10))
    await wake()
    expect(claims).toHaveLength(1)
    await answer(CALL)
    await finish()
    expect(claims).toHaveLength(0)
    expect(slots.isIdle).toBe(true)
  })

  it('slots claim again if a call was announced during a claim that found nothing', async () => {
    const { slots, claims, wake, answer } = slotsOver(new Semaphore(10), 1)
    await wake()
    await wake()
    expect(claims).toHaveLength(1)
    await answer(undefined)
    expect(claims).toHaveLength(1)
    await answer(undefined)
    expect(claims).toHaveLength(0)
    expect(slots.isIdle).toBe(true)
  })

  it('slots claim the next call after a load round has found one', async () => {
    const { slots, claims, making, answer } = slotsOver(new Semaphore(10))
    slots.look()
    await turn()
    expect(claims).toHaveLength(1)
    await answer(CALL)
    await answer(CALL)
    await answer(CALL)
    expect(making).toHaveLength(3)
    // All slots are busy.
    expect(claims).toHaveLength(0)
  })

  it('two sessions take turns at the last permit', async () => {
    const permits = new Semaphore(1)
    const one = slotsOver(permits)
    const two = slotsOver(permits)
    await one.wake(9)
    await two.wake()
    // The second call of the first session was queued before the other session; its third has to wait.
    for (const _ of [1, 2]) {
      await one.answer(CALL)
      expect(two.claims).toHaveLength(0)
      await one.finish()
    }
    expect(one.claims).toHaveLength(0)
    await two.answer(CALL)
    await two.finish()
    expect(one.claims).toHaveLength(1)
    await one.answer(undefined)
    expect(permits.held).toBe(0)
  })

  it('stopped slots claim no more, and stop resolves when the last call has ended', async () => {
    const { slots, claims, wake, answer, finish } = slotsOver(new Semaphore(10))
    await wake(5)
    await answer(CALL)
    let isOver = false
    const stopped = slots.stop().then(() => {
      isOver = true
    })
    while (claims.length > 0) await answer(undefined)
    expect(isOver).toBe(false)
    await finish()
    await stopped
    await wake()
    expect(claims).toHaveLength(0)
  })

  it('stop ends the wait for a permit', async () => {
    const permits = new Semaphore(1)
    const release = await permits.acquire()
    const { slots, wake } = slotsOver(permits)
    await wake()
    expect(permits.waiting).toBe(1)
    await slots.stop()
    expect(permits.waiting).toBe(0)
    release()
  })
})

describe('default name of an upstream command', () => {
  it.each([
    ['npx -y @modelcontextprotocol/server-filesystem /srv', 'filesystem'],
    ['npx -y @modelcontextprotocol/server-everything@1.2.3', 'everything'],
    ['uvx mcp-server-git --repository .', 'git'],
    ['npx --yes github-mcp-server', 'github'],
    ['node ./node_modules/@modelcontextprotocol/server-memory/dist/index.js', 'memory'],
    ['docker run -i mcp/postgres postgresql://host', 'postgres'],
    ['/usr/local/bin/issues-mcp', 'issues'],
    ['pnpm dlx My_Server', 'my'],
    ['python3 -m asyncgate', 'upstream'],
    ['npx -y @playwright/mcp', 'playwright'],
    ['node index.js', 'upstream'],
  ])('the command %s is named %s', (command, name) => {
    expect(upstreamName(command.split(' '))).toBe(name)
  })
})
