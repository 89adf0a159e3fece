import { isCreation, isEnd, type TaskEvent } from '../../engine/events.ts'
import { DURATION_BOUNDS, type HistoryPeriod, rangeOf, STEPS, type Step } from '../../store/history.ts'

interface Counts {
  created: number
  succeeded: number
  failed: number
  canceled: number
  readonly waits: number[]
  readonly runs: number[]
}

/** Counts what becomes of tasks, per tenant and minute. */
export class TaskCounter {
  readonly #tenants = new Map<number, Map<number, Counts>>()

  get isEmpty(): boolean {
    return this.#tenants.size === 0
  }

  count(event: TaskEvent): void {
    const { tenant, at, status, created_at, started_at } = event
    if (isCreation(event)) this.#of(tenant, at).created++
    if (status === 'leased' && event.fence === 1 && created_at !== undefined) {
      add(this.#of(tenant, at).waits, at - created_at)
    }
    if (!isEnd(event)) return
    const counts = this.#of(tenant, at)
    if (status === 'succeeded' || status === 'failed' || status === 'canceled') counts[status]++
    if (started_at !== null) add(counts.runs, at - started_at)
  }

  /** Removes everything that was counted, and returns it: each minute, and the sums of each hour. */
  take(): { readonly tenant: number; readonly periods: readonly HistoryPeriod[] }[] {
    const taken = [...this.#tenants].map(([tenant, minutes]) => {
      const counted = [...minutes].map(([at, counts]) => ({ step: 'minute' as const, at, ...counts }))
      return { tenant, periods: [...counted, ...sums(counted, STEPS.hour, 'hour')] }
    })
    this.#tenants.clear()
    return taken
  }

  #of(tenant: number, at: number): Counts {
    const minute = at - (at % STEPS.minute)
    const minutes = this.#tenants.get(tenant) ?? new Map<number, Counts>()
    const counts = minutes.get(minute) ?? noCounts()
    minutes.set(minute, counts)
    this.#tenants.set(tenant, minutes)
    return counts
  }
}

/** The sums of periods within longer ones, which are `length` milliseconds long, in the order of their first period. */
export function sums(periods: readonly HistoryPeriod[], length: number, step: Step): HistoryPeriod[] {
  const longer = new Map<number, Counts>()
  for (const { at, waits, runs, ...period } of periods) {
    const start = at - (at % length)
    const counts = longer.get(start) ?? noCounts()
    longer.set(start, counts)
    counts.created += period.created
    counts.succeeded += period.succeeded
    counts.failed += period.failed
    counts.canceled += period.canceled
    for (const [i, count] of waits.entries()) counts.waits[i] = (counts.waits[i] ?? 0) + count
    for (const [i, count] of runs.entries()) counts.runs[i] = (counts.runs[i] ?? 0) + count
  }
  return [...longer].map(([at, counts]) => ({ step, at, ...counts }))
}

function add(ranges: number[], ms: number): void {
  const range = rangeOf(ms)
  ranges[range] = (ranges[range] ?? 0) + 1
}

function noCounts(): Counts {
  const ranges = () => Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0)
  return { created: 0, succeeded: 0, failed: 0, canceled: 0, waits: ranges(), runs: ranges() }
}
