import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { STATUSES, type Status } from '../../core/transitions.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { filterFields, fits, type TaskFilter, visibleTo } from './task-filter.ts'
import { MAX_SCANNED, pagesOf } from './task-search.ts'

const { status: _, ...countedBy } = filterFields

export const countTasksInput = z.strictObject(countedBy)

const count = z.int().nonnegative()

export const taskCountsShape = z.object({
  queued: count,
  leased: count,
  running: count,
  pending_approval: count,
  input_required: count,
  succeeded: count,
  failed: count,
  canceled: count,
  more: z.boolean().meta({
    description: 'True if the count stopped at its limit: each number is then a lower bound',
  }),
} satisfies Record<Status | 'more', z.ZodType>)

export type TaskCounts = z.output<typeof taskCountsShape>

/** How many tasks have each status. Agents count their own tasks, admins those of the tenant. */
export async function countTasks(engine: Services, caller: Caller, input: unknown): Promise<TaskCounts> {
  checkRole(caller, 'list')
  const asked = parse(countTasksInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  return countFitting(engine, tenant, visibleTo(caller, asked))
}

/**
 * A count never costs more than a bounded number of rows. All tasks of a tenant are counted from the index by status,
 * up to MAX_SCANNED of each; those that fit a filter are counted among the newest MAX_SCANNED rows of its index.
 */
export function countFitting(engine: Services, tenant: number, filter: TaskFilter): Promise<TaskCounts> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  return isFiltered ? countAlong(engine, tenant, filter) : countAll(engine, tenant)
}

async function countAll(engine: Services, tenant: number): Promise<TaskCounts> {
  const found = await engine.reading(() => engine.store.reads.statusCounts(tenant, MAX_SCANNED + 1))
  const counts = noTasks()
  for (const status of STATUSES) {
    counts[status] = Math.min(found[status], MAX_SCANNED)
    counts.more ||= found[status] > MAX_SCANNED
  }
  return counts
}

async function countAlong(engine: Services, tenant: number, filter: TaskFilter): Promise<TaskCounts> {
  const isCounted = fits(filter)
  const counts = { ...noTasks(), more: true }
  for await (const { page, isLast } of pagesOf(engine, tenant, filter, Number.MAX_SAFE_INTEGER)) {
    for (const line of page) if (isCounted(line)) counts[line.status] += 1
    if (isLast) counts.more = false
  }
  return counts
}

function noTasks(): TaskCounts {
  return {
    queued: 0,
    leased: 0,
    running: 0,
    pending_approval: 0,
    input_required: 0,
    succeeded: 0,
    failed: 0,
    canceled: 0,
    more: false,
  }
}
