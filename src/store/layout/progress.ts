import type { ProgressEntry } from '../../core/task.ts'

/** How many of the newest reports of a task are stored. Of earlier ones the last of each lease stays. */
export const KEPT_REPORTS = 250
/** How many reports are stored beyond that before the earlier ones are removed. */
const REPORTS_PER_REMOVAL = 50

/** The tasks of which earlier reports are removed, with the number up to which they are. */
export function thinnedBy(
  progress: readonly ProgressEntry[],
): Pick<ProgressEntry, 'tenant' | 'task_id' | 'n'>[] {
  const isDue = ({ n }: ProgressEntry) => n > KEPT_REPORTS && n % REPORTS_PER_REMOVAL === 0
  return progress.filter(isDue).map(({ tenant, task_id, n }) => ({ tenant, task_id, n: n - KEPT_REPORTS }))
}
