import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import { nextTurn } from '../../util/turns.ts'
import { parse, taskId, text } from '../input.ts'
import { MAX_ITEMS } from '../many.ts'
import type { Services } from '../services.ts'
import { reason } from './cancel-task.ts'
import { filterFields, type TaskFilter, visibleTo } from './task-filter.ts'
import { findTasks } from './task-search.ts'

/** Tasks that are ended in one go. Between two portions everybody else has a turn, and the caller may leave. */
const PORTION = 500

/** No request is held for longer than 50 s: what is left then is left to the next call. */
const MAX_MS = 45_000

export const cancelManyInput = z.strictObject({
  ...filterFields,
  all: z.boolean().optional(),
  limit: z.int().min(1).optional(),
  cursor: text(512).optional(),
  task_ids: z.array(taskId).min(1).max(MAX_ITEMS).optional(),
  dry_run: z.boolean().optional().meta({ description: 'Only count what a filter fits; nothing is ended' }),
  reason,
})

export interface CancelManyAnswer {
  /** How many tasks this call ended. */
  readonly count: number
  /** Open tasks that fitted, or tasks that were named. */
  readonly matched: number
  /** How many of these were not ended here: others ended them before, or they are not the caller's. */
  readonly skipped: number
  /** Whether there may be more that fit: call again, with the cursor to go on where this call stopped. */
  readonly more: boolean
  readonly next_cursor: string | null
}

/**
 * Cancels the open tasks that fit a filter, or those that are named. Only tasks that were there when it began are
 * meant, so that it comes to an end however fast new ones are created. What it has ended stays so if its caller leaves.
 */
export async function cancelMany(
  engine: Services,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
): Promise<CancelManyAnswer> {
  checkRole(caller, 'cancel')
  const { task_ids, reason = null, limit, cursor, all, dry_run, ...filter } = parse(cancelManyInput, input)
  const isFiltered = !isEmpty(filter)
  if (all && isFiltered) throw invalid('all', 'stands beside a filter')
  if (task_ids !== undefined && (isFiltered || all || limit !== undefined || cursor !== undefined)) {
    throw invalid('task_ids', 'stands beside a filter')
  }
  if (task_ids !== undefined && dry_run) throw invalid('dry_run', 'is for a filter')
  const { tenant } = await engine.tenant(caller.tenant)
  const end = (ids: Iterable<string>) => endAll(engine, caller, tenant, reason, ids)
  if (task_ids !== undefined) {
    const { count, skipped, fault } = await end(new Set(task_ids))
    if (fault !== undefined) throw fault
    return { count, matched: count + skipped, skipped, more: false, next_cursor: null }
  }
  if (!isFiltered && !all)
    throw invalid('', 'names neither a filter nor task_ids; all: true means every task')

  const visible = visibleTo(caller, filter)
  const scope = { tenant, query: { list: 'cancel', ...visible } }
  // From the newest on, so that what is created from now on is never come to.
  let position: number | null =
    cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
  const over = performance.now() + MAX_MS
  let count = 0
  let skipped = 0
  /** Counted, and left alone. */
  let fitted = 0
  while (position !== null) {
    const left = limit === undefined ? PORTION : Math.min(PORTION, limit - count - fitted)
    if (left === 0 || signal?.aborted || performance.now() > over) break
    const found = await findTasks(engine, tenant, visible, position, left, (line) => !isTerminal(line.status))
    const ids = found.lines.map((line) => line.task_id)
    fitted += dry_run ? ids.length : 0
    const ended = await end(dry_run ? [] : ids)
    count += ended.count
    skipped += ended.skipped
    if (ended.fault !== undefined) {
      // What was done must be told; whoever goes on meets the fault again if it lasts.
      if (count === 0) throw ended.fault
      break
    }
    position = found.next
    // A search that finds nothing gives nobody else a turn by itself.
    await nextTurn()
  }
  const next_cursor = position === null ? null : await engine.cursors.write(scope, position)
  return { count, matched: count + skipped + fitted, skipped, more: position !== null, next_cursor }
}

interface Ended {
  readonly count: number
  readonly skipped: number
  /** Why some were not looked at. */
  readonly fault: Fault | undefined
}

async function endAll(
  engine: Services,
  caller: Caller,
  tenant: number,
  reason: string | null,
  ids: Iterable<string>,
): Promise<Ended> {
  const by = principalKey(caller.principal)
  const outcomes = await Promise.all(
    Array.from(ids, (task_id) =>
      engine.submit({ verb: 'cancel', tenant, task_id, by, role: caller.role, reason }).then(
        ({ ok }) => ok,
        (error: unknown) => {
          if (!(error instanceof Fault)) throw error
          return error.code === 'TASK_NOT_FOUND' || error.code === 'FORBIDDEN' ? false : error
        },
      ),
    ),
  )
  return {
    count: outcomes.filter((outcome) => outcome === true).length,
    skipped: outcomes.filter((outcome) => outcome === false).length,
    fault: outcomes.find((outcome) => outcome instanceof Fault),
  }
}

/** No labels fit every task. */
function isEmpty({ labels, ...fields }: TaskFilter): boolean {
  return Object.values(fields).every((value) => value === undefined) && Object.keys(labels ?? {}).length === 0
}
