import { describe, expect, it } from 'vitest'
import { upstreamName } from '../../../src/cli/commands/gateway/name.ts'
import { reportConfig } from '../../../src/config/index.ts'
import { Due } from '../../../src/gateway/calls/due.ts'
import { Places } from '../../../src/gateway/calls/places.ts'
import { Seats } from '../../../src/gateway/calls/session.ts'
import { Slots } from '../../../src/gateway/calls/slots.ts'
import { GATEWAY_DEFAULTS } from '../../../src/gateway/settings.ts'
import { deferred } from '../../../src/util/abort.ts'
import { until } from './support.ts'

describe('the settings of the gateway', () => {
  it('have the defaults that the table of settings says', () => {
    const { config } = reportConfig({ env: {}, file: '/dev/null' })
    expect(config?.server).toMatchObject(GATEWAY_DEFAULTS)
  })
})

describe('seats', () => {
  it('are the same for the same session where that is possible, and never two sessions’', () => {
    const seats = new Seats(3)
    const nobody = () => false
    const first = seats.take('a', nobody)
    seats.leave(first ?? 0)
    expect(seats.take('a', nobody)).toBe(first)
    const others = ['b', 'c'].map((id) => seats.take(id, nobody))
    expect(new Set([first, ...others])).toEqual(new Set([1, 2, 3]))
    expect(seats.take('d', nobody)).toBeUndefined()
  })

  it('that a session of another server has are taken last', () => {
    const seats = new Seats(3)
    expect(seats.take('a', (seat) => seat !== 2)).toBe(2)
    expect([1, 3]).toContain(seats.take('a', () => true))
  })
})

describe('calls that become ready later', () => {
  it('are told of in time, by seat', async () => {
    const told: [number, number][] = []
    const due = new Due((seat, count) => told.push([seat, count]))
    due.add(1, 60)
    due.add(2, 5)
    due.add(1, 60)
    due.add(3, 3_600_000_000)
    const total = () => told.reduce((sum, [, count]) => sum + count, 0)
    await until(() => total() === 3)
    expect(told[0]).toEqual([2, 1])
    // Together or one by one, as the clock will have it.
    expect(told.slice(1).every(([seat]) => seat === 1)).toBe(true)
    expect(due.size).toBe(1)
    due.stop()
    expect(due.size).toBe(0)
  })
})

/** Slots over a queue of the test. Each claim waits until it is answered. */
function slotsOver(places: Places, limit = 3) {
  const claims: ReturnType<typeof deferred<string | undefined>>[] = []
  const making: ReturnType<typeof deferred<void>>[] = []
  const slots = new Slots({
    limit: () => limit,
    places,
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
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    slots,
    claims,
    making,
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

/** Slots do not look into it. */
const CALL = 'a call'

describe('slots', () => {
  it('claim for each call that comes, and not after the last', async () => {
    const { slots, claims, answer, finish } = slotsOver(new Places(10))
    slots.wake()
    expect(claims).toHaveLength(1)
    await answer(CALL)
    await finish()
    expect(claims).toHaveLength(0)
    expect(slots.isIdle).toBe(true)
  })

  it('look again if a call came while a claim was under way that found nothing', async () => {
    const { slots, claims, answer } = slotsOver(new Places(10), 1)
    slots.wake()
    slots.wake()
    expect(claims).toHaveLength(1)
    await answer(undefined)
    expect(claims).toHaveLength(1)
    await answer(undefined)
    expect(claims).toHaveLength(0)
    expect(slots.isIdle).toBe(true)
  })

  it('that find one call of unknown many look for the next', async () => {
    const { slots, claims, making, answer } = slotsOver(new Places(10))
    slots.look()
    expect(claims).toHaveLength(1)
    await answer(CALL)
    await answer(CALL)
    await answer(CALL)
    expect(making).toHaveLength(3)
    // All slots are busy.
    expect(claims).toHaveLength(0)
  })

  it('of two sessions take turns at the last place', async () => {
    const places = new Places(1)
    const one = slotsOver(places)
    const two = slotsOver(places)
    one.slots.wake(9)
    two.slots.wake()
    // Its second call had asked before the other session came; its third has to wait.
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
    expect(places.taken).toBe(0)
  })

  it('that stop take no more, and have stopped when the last call is over', async () => {
    const { slots, claims, answer, finish } = slotsOver(new Places(10))
    slots.wake(5)
    await answer(CALL)
    let isOver = false
    const stopped = slots.stop().then(() => {
      isOver = true
    })
    while (claims.length > 0) await answer(undefined)
    expect(isOver).toBe(false)
    await finish()
    await stopped
    slots.wake()
    expect(claims).toHaveLength(0)
  })
})

describe('the name of an upstream that is a command', () => {
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
  ])('%s is %s', (command, name) => {
    expect(upstreamName(command.split(' '))).toBe(name)
  })
})
