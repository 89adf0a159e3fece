import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Schedule } from '../../src/scheduler/schedule.ts'
import { openScheduleStore, type ScheduleStore } from '../../src/scheduler/store.ts'
import { Ticker } from '../../src/scheduler/ticker.ts'
import { Barrier } from '../support/steps.ts'
import { FakeGate, MINUTE, refused, START, schedule, silent, unreachable } from './support.ts'

let store: ScheduleStore
let gate: FakeGate
let now: number
let ticker: Ticker

beforeEach(async () => {
  store = await openScheduleStore(':memory:')
  gate = new FakeGate()
  gate.now = () => now
  now = START
  ticker = new Ticker({ store, gate, log: silent, now: () => now })
})
afterEach(() => {
  vi.useRealTimers()
  store.close()
})

const tickAt = async (minutes: number) => {
  now = START + minutes * MINUTE
  await ticker.tick()
}
const minutes = () => gate.runs.map((run) => (run - START) / MINUTE)
const stored = (): Schedule => store.get('s1') ?? expect.unreachable()

describe('a tick', () => {
  it('creates the task of a run, for the owner of the schedule', async () => {
    store.add(
      schedule({
        owner: 'service:planner',
        principal_ai: 'eve',
        task_template: {
          type: 'report',
          payload_template: { day: '{{run_at}}', id: '{{schedule_id}}', made: '{{now_ms}}' },
          priority: 7,
          requirements: { capabilities: ['sql'] },
          labels: { team: 'ops' },
        },
      }),
    )
    await tickAt(1.5)
    expect([...gate.tasks.keys()]).toEqual(['service:planner schedule:s1:2026-01-01T00:01:00.000Z'])
    expect([...gate.tasks.values()].map(({ input }) => input)).toEqual([
      {
        type: 'report',
        payload: { day: '2026-01-01T00:01:00.000Z', id: 's1', made: START + 1.5 * MINUTE },
        priority: 7,
        requirements: { capabilities: ['sql'] },
        labels: { team: 'ops', schedule_id: 's1' },
        principal_ai: 'eve',
        parent_task_id: 's1',
        caused_by_receipt_id: 'r1',
        idempotency_key: 'schedule:s1:2026-01-01T00:01:00.000Z',
      },
    ])
    expect(stored()).toMatchObject({
      last_run_at: START + MINUTE,
      last_status: 'created',
      next_run_at: START + 2 * MINUTE,
    })
  })

  it('fires nothing before its time, and nothing twice', async () => {
    store.add(schedule())
    for (const time of [0.5, 0.999, 1, 1.2, 1.999, 2, 2, 3]) await tickAt(time)
    expect(minutes()).toEqual([1, 2, 3])
    expect(gate.calls).toBe(3)
  })

  it('after an absence does what the policy says', async () => {
    store.add(schedule({ misfire_policy: 'catch_up_one' }))
    await tickAt(1)
    await tickAt(9.5)
    expect(minutes()).toEqual([1, 8, 9])
    await tickAt(10)
    expect(minutes()).toEqual([1, 8, 9, 10])
  })

  it('when the clock was set back waits until it is where it was', async () => {
    store.add(schedule())
    await tickAt(5)
    for (const time of [2, 3, 4, 5]) await tickAt(time)
    expect(minutes()).toEqual([1, 2, 3, 4, 5])
    expect(gate.calls).toBe(5)
    await tickAt(6)
    expect(minutes()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('leaves out what is paused', async () => {
    store.add(schedule({ status: 'paused' }))
    await tickAt(5)
    expect(minutes()).toEqual([])
  })

  it('fires again what it could not record, and the gate knows it', async () => {
    store.add(schedule())
    const { settle } = store
    store.settle = () => {
      throw new Error('the disk is full')
    }
    await tickAt(1)
    expect(minutes()).toEqual([1])
    expect(stored()).toMatchObject({ last_run_at: null, last_status: 'INTERNAL_ERROR' })
    store.settle = settle
    await tickAt(1.5)
    expect(minutes()).toEqual([1])
    expect(stored()).toMatchObject({ last_run_at: START + MINUTE, last_status: 'duplicate' })
  })

  it('survives a database that fails in everything', async () => {
    store.add(schedule())
    for (const method of ['settle', 'note'] as const) {
      store[method] = () => {
        throw new Error('the disk is full')
      }
    }
    await tickAt(1)
    expect(gate.calls).toBe(1)
  })

  it('stops making up for runs when the schedule is paused or deleted meanwhile', async () => {
    store.add(schedule())
    gate.passing = async () => {
      if (gate.calls === 3) store.pause('s1')
    }
    await tickAt(10)
    expect(minutes()).toEqual([1, 2, 3])
  })

  it('fires many schedules side by side, but not too many', async () => {
    for (let n = 0; n < 50; n++) store.add(schedule({ schedule_id: `s${n}` }))
    let under = 0
    let most = 0
    gate.passing = async () => {
      most = Math.max(most, ++under)
      await new Promise((resolve) => setImmediate(resolve))
      under--
    }
    await tickAt(1)
    expect(gate.tasks.size).toBe(50)
    expect(most).toBe(16)
  })

  it('is not held up by a schedule that hangs', async () => {
    store.add(schedule())
    const barrier = new Barrier()
    barrier.shut()
    gate.passing = () => (gate.calls === 1 ? barrier.pass() : Promise.resolve())
    now = START + MINUTE
    const hanging = ticker.tick()
    await barrier.arrival()
    store.add(schedule({ schedule_id: 's2' }))
    const others = ticker.tick()
    await vi.waitFor(() => expect(gate.tasks.size).toBe(1))
    expect(gate.calls).toBe(2)
    barrier.open()
    await Promise.all([hanging, others])
    expect(gate.tasks.size).toBe(2)
  })
})

describe('a run that is not taken', () => {
  it('stays due, is tried again after a pause, and is made up for in order', async () => {
    store.add(schedule())
    gate.refusing = refused('FORBIDDEN')
    await tickAt(1)
    await ticker.tick()
    expect(gate.calls).toBe(1)
    expect(stored()).toMatchObject({ last_status: 'FORBIDDEN', last_run_at: null })
    await tickAt(2)
    expect(gate.calls).toBe(2)
    gate.refusing = undefined
    await tickAt(4)
    expect(minutes()).toEqual([1, 2, 3, 4])
    expect(stored().last_status).toBe('created')
  })

  it('is reported to the owner once it is two intervals late, and only once', async () => {
    store.add(schedule())
    gate.refusing = refused('QUOTA_EXCEEDED')
    await tickAt(1)
    await tickAt(3)
    expect(gate.stale).toEqual([])
    for (const time of [3.5, 5, 7, 9]) await tickAt(time)
    expect(gate.stale).toEqual([START + MINUTE])
    gate.refusing = undefined
    await tickAt(11)
    expect(minutes()).toHaveLength(11)
    expect(gate.stale).toEqual([START + MINUTE])
    await tickAt(20)
    expect(gate.stale).toEqual([START + MINUTE, START + 12 * MINUTE])
  })

  it('is reported when the gate can be reached again', async () => {
    store.add(schedule({ misfire_policy: 'skip' }))
    gate.refusing = unreachable()
    for (const time of [1, 3.5, 5]) await tickAt(time)
    expect(gate.stale).toEqual([])
    gate.refusing = undefined
    await tickAt(7)
    expect(gate.stale).toEqual([START + MINUTE])
    expect(minutes()).toEqual([7])
  })

  it('does not hang on an anomaly that is refused', async () => {
    store.add(schedule())
    gate.reportStale = async () => {
      throw refused('FORBIDDEN')
    }
    await tickAt(5)
    expect(minutes()).toEqual([1, 2, 3, 4, 5])
  })

  it('whose answer got lost is not fired twice', async () => {
    store.add(schedule())
    gate.trouble.push('lost')
    await tickAt(1)
    expect(stored().last_run_at).toBeNull()
    await tickAt(1.9)
    expect(minutes()).toEqual([1])
    expect(stored()).toMatchObject({ last_run_at: START + MINUTE, last_status: 'duplicate' })
  })
})

describe('by itself', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: START })
    gate.now = Date.now
    ticker = new Ticker({ store, gate, log: silent })
  })
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('a ticker fires on time, never early', async () => {
    store.add(schedule({ timing: { mode: 'interval', interval_seconds: 3, timezone: 'UTC' } }))
    ticker.start()
    await pass(2_999)
    expect(gate.runs).toEqual([])
    await pass(1)
    expect(gate.runs).toEqual([START + 3_000])
    await pass(30_000)
    expect(gate.tasks.size).toBe(11)
    for (const { input, at } of gate.tasks.values()) {
      expect(input.idempotency_key).toBe(`schedule:s1:${new Date(at).toISOString()}`)
    }
    await ticker.stop()
  })

  it('notices within a second that the clock was set forward', async () => {
    store.add(schedule({ misfire_policy: 'skip' }))
    ticker.start()
    await pass(500)
    vi.setSystemTime(START + 10 * MINUTE)
    await pass(1000)
    expect(minutes()).toEqual([10])
    await ticker.stop()
  })

  it('notices that the clock was set back, and fires nothing again', async () => {
    store.add(schedule())
    ticker.start()
    await pass(2 * MINUTE)
    vi.setSystemTime(START)
    await pass(2 * MINUTE)
    expect(gate.calls).toBe(2)
    await pass(MINUTE)
    expect(minutes()).toEqual([1, 2, 3])
    await ticker.stop()
  })

  it('tries what failed again, ever less often, and goes on when it works', async () => {
    store.add(schedule())
    gate.refusing = unreachable()
    ticker.start()
    await pass(11 * MINUTE)
    expect(gate.calls).toBeGreaterThan(10)
    expect(gate.calls).toBeLessThan(40)
    gate.refusing = undefined
    await pass(MINUTE)
    expect(minutes()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    await ticker.stop()
  })

  it('rests when what failed is gone', async () => {
    store.add(schedule())
    gate.refusing = unreachable()
    ticker.start()
    await pass(MINUTE + 1)
    store.remove('s1')
    const looks = vi.spyOn(store, 'due')
    await pass(MINUTE)
    expect(looks.mock.calls.length).toBeLessThan(70)
    await ticker.stop()
  })

  it('checks immediately when a schedule was added', async () => {
    ticker.start()
    await pass(200)
    vi.setSystemTime(START + MINUTE)
    store.add(schedule())
    ticker.poke()
    await pass(1)
    expect(minutes()).toEqual([1])
    await ticker.stop()
    store.add(schedule({ schedule_id: 's2' }))
    ticker.poke()
    await pass(5000)
    expect(minutes()).toEqual([1])
  })

  it('when it is stopped lets what is under way arrive, and fires nothing more', async () => {
    store.add(schedule())
    const barrier = new Barrier()
    barrier.shut()
    gate.passing = () => barrier.pass()
    vi.setSystemTime(START + 5 * MINUTE)
    ticker.start()
    await barrier.arrival()
    const stopped = ticker.stop()
    barrier.open()
    await stopped
    expect(minutes()).toEqual([1])
    expect(stored().last_run_at).toBe(START + MINUTE)
  })
})
