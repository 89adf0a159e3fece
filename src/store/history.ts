/** Upper bounds of the ranges into which durations are counted, in milliseconds. The last range has none. */
export const DURATION_BOUNDS = [
  10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_600_000, 21_600_000,
  86_400_000,
] as const

const RANGES = DURATION_BOUNDS.length + 1

/** The length of the periods of the history, in milliseconds. */
export const STEPS = { minute: 60_000, hour: 3_600_000 } as const
export type Step = keyof typeof STEPS

/** What became of the tasks of a tenant in a period. */
export interface HistoryCounts {
  readonly created: number
  readonly succeeded: number
  readonly failed: number
  readonly canceled: number
  /** Tasks by the range of their wait: from their creation to their first lease. */
  readonly waits: readonly number[]
  /** Ended tasks by the range of their run: from their start to their end. */
  readonly runs: readonly number[]
}

export interface HistoryPeriod extends HistoryCounts {
  readonly step: Step
  /** The start of the period, in milliseconds since the epoch. */
  readonly at: number
}

/** The history of tasks, written without the lock of the tenant. */
export interface HistoryRows {
  /** Adds counts to those of their periods, in one transaction. */
  add(tenant: number, periods: readonly HistoryPeriod[]): Promise<void>
  /** Periods from `from` on and before `before`, in order, as far as something was counted. */
  read(tenant: number, step: Step, from: number, before: number): Promise<HistoryPeriod[]>
  /** Removes the oldest periods before a time. Resolves with their number. */
  removeBefore(tenant: number, step: Step, before: number, limit: number): Promise<number>
}

/** The columns of the counts, the same in both stores. */
export const HISTORY_COLUMNS: readonly string[] = [
  ...['created', 'succeeded', 'failed', 'canceled'],
  ...Array.from({ length: RANGES }, (_, i) => `wait_${i}`),
  ...Array.from({ length: RANGES }, (_, i) => `run_${i}`),
]

/** The counts in the order of their columns. */
export function historyValues({
  created,
  succeeded,
  failed,
  canceled,
  waits,
  runs,
}: HistoryCounts): number[] {
  const ranges = (counts: readonly number[]) => Array.from({ length: RANGES }, (_, i) => counts[i] ?? 0)
  return [created, succeeded, failed, canceled, ...ranges(waits), ...ranges(runs)]
}

/** The period of a row that has the columns of the counts and `at`. */
export function historyPeriod(step: Step, row: Readonly<Record<string, number>>): HistoryPeriod {
  const count = (column: string) => row[column] ?? 0
  const ranges = (prefix: string) => Array.from({ length: RANGES }, (_, i) => count(`${prefix}_${i}`))
  return {
    step,
    at: count('at'),
    created: count('created'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    canceled: count('canceled'),
    waits: ranges('wait'),
    runs: ranges('run'),
  }
}

/** The number of a step in the database: its length in seconds. */
export function stepNumber(step: Step): number {
  return STEPS[step] / 1000
}

/** The range of a duration. */
export function rangeOf(ms: number): number {
  const at = DURATION_BOUNDS.findIndex((bound) => ms <= bound)
  return at === -1 ? DURATION_BOUNDS.length : at
}
