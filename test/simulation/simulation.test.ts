import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { simulate } from './simulation.ts'

const SEEDS = 60

/** `ASYNCGATE_SEEDS` runs that many; `ASYNCGATE_SEED` only this one. */
const count = Number(process.env.ASYNCGATE_SEEDS ?? SEEDS)
const only = process.env.ASYNCGATE_SEED
const seeds = only === undefined ? Array.from({ length: count }, (_, i) => i + 1) : [Number(only)]

const timers = { advance: (ms: number) => void vi.advanceTimersByTime(ms) }

describe('the simulation', () => {
  beforeAll(() => {
    // Reads and batches give others a turn after some milliseconds, which on a busy machine pass at any moment.
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
  })
  afterAll(() => {
    vi.useRealTimers()
  })

  it(
    'loses nothing, doubles nothing and comes to an end, whatever goes wrong',
    async () => {
      const total = { calls: 0, tasks: 0, hours: 0 }
      for (const seed of seeds) {
        const { violations, calls, tasks, simulatedMs } = await simulate(seed, timers)
        // Gates that died have left theirs behind.
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
    60_000 * Math.max(1, seeds.length / SEEDS),
  )

  it('runs the same way when its seed is the same', async () => {
    const [seed = 1] = seeds
    const first = await simulate(seed, timers)
    const second = await simulate(seed, timers)
    expect(second.digest).toBe(first.digest)
    expect(first.calls).toBeGreaterThan(50)
  })
})
