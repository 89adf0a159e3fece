import { GateError } from '../../src/client/gate-error.ts'
import { isoTime } from '../../src/core/time.ts'
import { dueAt, upcoming } from '../../src/scheduler/due.ts'
import type { ScheduleGate } from '../../src/scheduler/gate.ts'
import { runTask } from '../../src/scheduler/plan/run.ts'
import { timetableOf } from '../../src/scheduler/plan/timetable.ts'
import type { Schedule } from '../../src/scheduler/schedule.ts'

export const START = Date.UTC(2026, 0, 1)
export const MINUTE = 60_000

export const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A schedule right after its creation at START. */
export function schedule(changes: Partial<Schedule> = {}): Schedule {
  const base = {
    schedule_id: 's1',
    name: 'minutely',
    owner: 'agent:alice',
    principal_ai: 'alice',
    receipt_id: 'r1',
    created_at: START,
    timing: { mode: 'interval', interval_seconds: 60, timezone: 'UTC' },
    task_template: { type: 'report', payload_template: { at: '{{run_at}}' } },
    misfire_policy: 'catch_up_all',
    jitter_seconds: 0,
    status: 'enabled',
    last_run_at: null,
    last_status: null,
    stale_run_at: null,
    ...changes,
  } as const
  return {
    ...base,
    ...upcoming(base, timetableOf(base.timing, base.created_at), base.created_at),
    ...changes,
  }
}

export interface Fired {
  readonly key: string
  readonly input: ReturnType<typeof runTask>
  readonly at: number
}

/** A minimal gate: one task for each idempotency key of an owner. */
export class FakeGate implements ScheduleGate {
  readonly tasks = new Map<string, Fired>()
  readonly stale: number[] = []
  /** The faults of the next calls: a response that is lost after the task was created, or a refusal. */
  readonly trouble: ('lost' | GateError)[] = []
  refusing: GateError | undefined
  /** The test clock. */
  now: () => number = () => START
  /** The number of calls, including those without a response. */
  calls = 0
  /** Called by every fire, so that a test can observe calls in progress. */
  passing: () => Promise<void> = async () => {}

  async fire(asked: Schedule, runAt: number): Promise<'created' | 'duplicate'> {
    this.calls++
    await this.passing()
    const trouble = this.refusing ?? this.trouble.shift()
    if (trouble instanceof GateError) throw trouble
    const input = runTask(asked, { ...asked, run_at: runAt, now: this.now() })
    const key = `${asked.owner} ${input.idempotency_key}`
    const known = this.tasks.has(key)
    if (!known) this.tasks.set(key, { key, input, at: this.now() })
    if (trouble === 'lost') throw unreachable()
    return known ? 'duplicate' : 'created'
  }

  async reportStale(_schedule: Schedule, runAt: number): Promise<void> {
    if (this.refusing?.code === 'UNREACHABLE') {
      this.calls++
      throw this.refusing
    }
    this.stale.push(runAt)
  }

  requestOf(): Promise<never> {
    throw new Error('not used by these tests')
  }

  record(): Promise<never> {
    throw new Error('not used by these tests')
  }

  /** The fired runs, oldest first. */
  get runs(): number[] {
    return [...this.tasks.values()]
      .map(({ input }) => Date.parse(input.idempotency_key.slice(`schedule:${input.parent_task_id}:`.length)))
      .sort((a, b) => a - b)
  }
}

export function unreachable(): GateError {
  return new GateError('No server answers.', { code: 'UNREACHABLE', status: 0, retryable: true })
}

export function refused(code: string): GateError {
  return new GateError('Refused.', { code, status: 409, retryable: false })
}

/** The runs of a schedule that are due by a time. */
export function expectedRuns(asked: Schedule, until: number): number[] {
  const timetable = timetableOf(asked.timing, asked.created_at)
  const runs: number[] = []
  for (let run = timetable.next(asked.created_at); run !== null && run <= until; run = timetable.next(run)) {
    if (dueAt(asked, timetable, run) <= until) runs.push(run)
  }
  return runs
}

export const iso = (times: readonly number[]) => times.map(isoTime)
