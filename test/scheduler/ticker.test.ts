import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Schedule } from '../../src/scheduler/schedule.ts'
import { type FileScheduleStore, openScheduleStore } from '../../src/scheduler/store.ts'
import { Ticker } from '../../src/scheduler/ticker.ts'
import { Barrier } from '../support/steps.ts'
import { FakeGate, MINUTE, refused, START, schedule, silent, unreachable } from './support.ts'

let store: FileScheduleStore
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

describe('ticks', () => {
  it('a tick creates the task of a run for the owner of the schedule', async () => {
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

  it('no run fires early or twice', async () => {
    store.add(schedule())
    for (const time of [0.5, 0.999, 1, 1.2, 1.999, 2, 2, 3]) await tickAt(time)
    expect(minutes()).toEqual([1, 2, 3])
    expect(gate.calls).toBe(3)
  })

  it('missed runs are handled by the misfire policy', async () => {
    store.add(schedule({ misfire_policy: 'catch_up_one' }))
    await tickAt(1)
    await tickAt(9.5)
    expect(minutes()).toEqual([1, 8, 9])
    await tickAt(10)
    expect(minutes()).toEqual([1, 8, 9, 10])
  })

  it('after the clock was set back, no run fires until it has caught up', async () => {
    store.add(schedule())
    await tickAt(5)
    for (const time of [2, 3, 4, 5]) await tickAt(time)
    expect(minutes()).toEqual([1, 2, 3, 4, 5])
    expect(gate.calls).toBe(5)
    await tickAt(6)
    expect(minutes()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('a paused schedule does not fire', async () => {
    store.add(schedule({ status: 'paused' }))
    await tickAt(5)
    expect(minutes()).toEqual([])
  })

  it('a run that could not be recorded fires again as a duplicate', async () => {
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

  it('a tick survives a failing database', async () => {
    store.add(schedule())
    for (const method of ['settle', 'note'] as const) {
      store[method] = () => {
        throw new Error('the disk is full')
      }
    }
    await tickAt(1)
    expect(gate.calls).toBe(1)
  })

  it('catching up stops when the schedule is paused meanwhile', async () => {
    store.add(schedule())
    gate.passing = async () => {
      if (gate.calls === 3) store.pause('s1')
    }
    await tickAt(10)
    expect(minutes()).toEqual([1, 2, 3])
  })

  it('schedules fire concurrently up to a limit', async () => {
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

  it('a schedule that hangs does not delay others', async () => {
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

describe('refused runs', () => {
  it('a refused run stays due, is retried after a pause, and runs are caught up in order', async () => {
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

  it('a run that is two intervals late is reported to the owner once', async () => {
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

  it('a late run is reported when the gate is reachable again', async () => {
    store.add(schedule({ misfire_policy: 'skip' }))
    gate.refusing = unreachable()
    for (const time of [1, 3.5, 5]) await tickAt(time)
    expect(gate.stale).toEqual([])
    gate.refusing = undefined
    await tickAt(7)
    expect(gate.stale).toEqual([START + MINUTE])
    expect(minutes()).toEqual([7])
  })

  it('a refused anomaly report does not block the schedule', async () => {
    store.add(schedule())
    gate.reportStale = async () => {
      throw refused('FORBIDDEN')
    }
    await tickAt(5)
    expect(minutes()).toEqual([1, 2, 3, 4, 5])
  })

  it('a run whose response was lost does not fire twice', async () => {
    store.add(schedule())
    gate.trouble.push('lost')
    await tickAt(1)
    expect(stored().last_run_at).toBeNull()
    await tickAt(1.9)
    expect(minutes()).toEqual([1])
    expect(stored()).toMatchObject({ last_run_at: START + MINUTE, last_status: 'duplicate' })
  })
})

describe('ticker with timers', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: START })
    gate.now = Date.now
    ticker = new Ticker({ store, gate, log: silent })
  })
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  it('the ticker fires on time, never early', async () => {
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

  it('the ticker notices within a second that the clock was set forward', async () => {
    store.add(schedule({ misfire_policy: 'skip' }))
    ticker.start()
    await pass(500)
    vi.setSystemTime(START + 10 * MINUTE)
    await pass(1000)
    expect(minutes()).toEqual([10])
    await ticker.stop()
  })

  it('the ticker notices that the clock was set back, and fires no run again', async () => {
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

  it('failed runs are retried with growing delays, and caught up when the gate works', async () => {
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

  it('the ticker does not poll for a failed schedule that was removed', async () => {
    store.add(schedule())
    gate.refusing = unreachable()
    ticker.start()
    await pass(MINUTE + 1)
    store.remove('s1')
    const polls = vi.spyOn(store, 'due')
    await pass(MINUTE)
    expect(polls.mock.calls.length).toBeLessThan(70)
    await ticker.stop()
  })

  it('the ticker checks immediately when a schedule was added', async () => {
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

  it('stop waits for running fires and fires nothing more', async () => {
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
