import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { simulate } from './simulation.ts'

const SEEDS = 40

/** `ASYNCGATE_SEEDS` sets the number of seeds; `ASYNCGATE_SEED` selects one. */
const count = Number(process.env.ASYNCGATE_SEEDS ?? SEEDS)
const only = process.env.ASYNCGATE_SEED
const seeds = only === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(only)]

const timers = { advance: (ms: number) => void vi.advanceTimersByTime(ms) }

describe('simulation', () => {
  beforeAll(() => {
    // Reads and batches yield after some milliseconds of real time, which would make runs differ on a busy machine.
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  it(
    'no task is lost or duplicated and all tasks end under random faults',
    async () => {
      const total = { calls: 0, tasks: 0, hours: 0 }
      for (const seed of seeds) {
        const { violations, calls, tasks, simulatedMs } = await simulate(seed, timers)
        // Killed gates leave timers behind.
        vi.clearAllTimers()
        const again = `ASYNCGATE_SEED=${seed} npx vitest run test/simulation`
        expect(violations, `seed ${seed}; to see it again:\n  ${again}\n`).toEqual([])
        total.calls += calls
        total.tasks += tasks
        total.hours += simulatedMs / 3_600_000
      }
      console.log(
        `simulation: ${seeds.length} seeds, ${total.calls} calls, ${total.tasks} tasks, ${Math.round(total.hours)} simulated hours`,
      )
    },
    300_000 * Math.max(1, seeds.length / SEEDS),
  )

  it('a run with the same seed is identical', async () => {
    const [seed = 1] = seeds
    const first = await simulate(seed, timers)
    const second = await simulate(seed, timers)
    expect(second.digest).toBe(first.digest)
    expect(first.calls).toBeGreaterThan(50)
  })
})
