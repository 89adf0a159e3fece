import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Timing } from '../../src/scheduler/plan/timetable.ts'
import type { Schedule } from '../../src/scheduler/schedule.ts'
import { type FileScheduleStore, openScheduleStore } from '../../src/scheduler/store.ts'
import { Ticker } from '../../src/scheduler/ticker.ts'
import {
  expectedRuns,
  FakeGate,
  iso,
  MINUTE,
  refused,
  START,
  schedule,
  silent,
  unreachable,
} from './support.ts'

/** A scheduler that can be killed between any two steps, restarted, and restored from a copy of its file. */
class Process {
  ticker: Ticker
  readonly #store: FileScheduleStore
  readonly #gate: FakeGate
  readonly #now: () => number
  /** The number of writes before it dies. */
  writes = Number.POSITIVE_INFINITY

  constructor(store: FileScheduleStore, gate: FakeGate, now: () => number) {
    this.#store = store
    this.#gate = gate
    this.#now = now
    this.ticker = this.restart()
  }

  restart(): Ticker {
    this.writes = Number.POSITIVE_INFINITY
    const store: FileScheduleStore = {
      ...this.#store,
      settle: (...given) => {
        if (this.writes-- <= 0) throw new Error('killed')
        this.#store.settle(...given)
      },
    }
    this.ticker = new Ticker({ store, gate: this.#gate, log: silent, now: this.#now })
    return this.ticker
  }

  /** The state that a backup contains. */
  save(): Schedule {
    return this.#store.get('s1') ?? expect.unreachable()
  }

  restore(saved: Schedule): void {
    this.#store.remove('s1')
    this.#store.add(saved)
    this.restart()
  }
}

type Step =
  | { readonly do: 'pass' | 'jump'; readonly ms: number }
  | { readonly do: 'tick' | 'kill' | 'restart' | 'backup' | 'restore'; readonly who: 0 | 1 }
  | { readonly do: 'lose' | 'refuse' | 'cut' }

const who = fc.constantFrom<0 | 1>(0, 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(3 * MINUTE) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('jump' as const),
      ms: fc.integer({ min: -20 * MINUTE, max: 20 * MINUTE }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('tick' as const), who }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('kill' as const, 'restart', 'backup', 'restore'), who }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('lose' as const, 'refuse', 'cut') }) },
)

const timings = fc.constantFrom<Timing>(
  { mode: 'interval', interval_seconds: 97, timezone: 'UTC' },
  { mode: 'cron', cron_expr: '*/5 * * * *', timezone: 'Europe/Berlin' },
  { mode: 'cron', cron_expr: '30 2 * * *', timezone: 'Europe/Berlin' },
)

/** Plays the steps and returns the outcome. */
async function play(asked: Schedule, steps: readonly Step[], files: 1 | 2) {
  const gate = new FakeGate()
  let now = asked.created_at
  gate.now = () => now
  let latest = now
  const first = await openScheduleStore(':memory:')
  const second = files === 1 ? first : await openScheduleStore(':memory:')
  first.add(asked)
  second.add(asked)
  const processes = [first, second].map((store) => new Process(store, gate, () => now)) as [Process, Process]
  let backup: Schedule = asked
  const tick = async (process: Process) => {
    latest = Math.max(latest, now)
    await process.ticker.tick()
  }
  for (const step of steps) {
    switch (step.do) {
      case 'pass':
      case 'jump':
        now += step.ms
        break
      case 'tick':
        await tick(processes[step.who])
        break
      case 'kill':
        // All later writes are lost, as if the process had died here; then it is restarted.
        processes[step.who].writes = 1
        await tick(processes[step.who])
        processes[step.who].restart()
        break
      case 'restart':
        processes[step.who].restart()
        break
      case 'backup':
        backup = processes[step.who].save()
        break
      case 'restore':
        processes[step.who].restore(backup)
        break
      case 'lose':
        gate.trouble.push('lost')
        break
      case 'refuse':
        gate.trouble.push(refused('QUOTA_EXCEEDED'))
        break
      case 'cut':
        gate.trouble.push(unreachable())
    }
  }
  // At the end, both schedulers are restarted without faults.
  gate.trouble.splice(0)
  now = Math.max(now, latest)
  for (const process of processes) {
    process.restart()
    await tick(process)
  }
  first.close()
  if (second !== first) second.close()
  return { gate, latest }
}

describe.each([
  ['on one file', 1],
  ['on two files from the same backup', 2],
] as const)('two schedulers %s', (_, files) => {
  it('every run fires exactly once, whatever kills the schedulers and however the clock jumps', async () => {
    await fc.assert(
      fc.asyncProperty(
        timings,
        fc.constantFrom(0, 0, 20),
        fc.array(step, { maxLength: 60, size: 'max' }),
        async (timing, jitter_seconds, steps) => {
          const asked = schedule({
            timing,
            jitter_seconds,
            // Two hours before daylight saving time begins.
            created_at: Date.UTC(2026, 2, 28, 23),
            misfire_policy: 'catch_up_all',
            task_template: { type: 'x', payload_template: { now: '{{now}}' } },
          })
          const { gate, latest } = await play(asked, steps, files)
          expect(iso(gate.runs)).toEqual(iso(expectedRuns(asked, latest)))
          for (const { input, at } of gate.tasks.values()) {
            const run = Date.parse(input.idempotency_key.slice('schedule:s1:'.length))
            expect(at).toBeGreaterThanOrEqual(run)
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})

it('a run whose payload contains the current time is still recognized as a duplicate', async () => {
  const { gate } = await play(
    schedule({ task_template: { type: 'x', payload_template: '{{now_ms}}' } }),
    [
      { do: 'pass', ms: MINUTE },
      { do: 'tick', who: 0 },
      { do: 'pass', ms: 1000 },
      { do: 'tick', who: 1 },
    ],
    2,
  )
  expect(gate.runs).toEqual([START + MINUTE])
})
