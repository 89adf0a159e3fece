import { z } from 'zod'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { OPEN_STATUSES } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { nextTurn } from '../../util/turns.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { cursor, taskId, text } from '../input.ts'
import { MAX_ITEMS } from '../many.ts'
import { findTasks } from './search/scan.ts'
import { searchFor } from './search/search.ts'
import { statusShape } from './shape.ts'
import { filterFields, searchTime, visibleTo } from './task-search.ts'

const reason = text(1000).optional().describe('Why the task is canceled; recorded in the receipt')

export const cancelTask = defineOperation({
  name: 'cancel_task',
  title: 'Cancel a task',
  description:
    'Cancels one of your tasks. The worker that holds it is notified to stop. ok is false if the task had already ended; status says how.',
  input: z.strictObject({ task_id: taskId, reason }),
  output: z.object({
    ok: z.boolean().describe('Whether this call ended the task'),
    status: statusShape,
  }),
  actor: 'agent',
  access: 'cancel',
  toolsets: ['agent'],
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/cancel' },
  effect: ENDS,
  async run({ engine }, caller, { task_id, reason = null }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const by = principalKey(caller.principal)
    return engine.submitConfirmed({ verb: 'cancel', tenant, task_id, by, role: caller.role, reason })
  },
})

/** Tasks that are canceled in one step. Other requests are served between two steps, and the caller may disconnect. */
const PORTION = 500

/** No request takes longer than 50 s: what is left after this time is left to the next call. */
const MAX_MS = 45_000

/**
 * Only tasks that exist when the call starts are canceled, so that it ends however fast new ones are created. Tasks that
 * it has canceled stay canceled if its caller disconnects.
 */
export const cancelTasks = defineOperation({
  name: 'cancel_tasks',
  title: 'Cancel many tasks',
  description:
    'Cancels all your open tasks that match a filter (session_id, type, status, created_by, labels, query; or all: true), or the tasks in task_ids. ' +
    'Only tasks created before the call are canceled. While more is true, call again with cursor: next_cursor.',
  input: z.strictObject({
    ...filterFields,
    all: z.boolean().optional().describe('True: every open task that you may cancel, instead of a filter'),
    limit: z
      .int()
      .min(1)
      .optional()
      .describe('Maximum number of tasks to cancel in this call; if absent, as many as 45 s allow'),
    cursor,
    task_ids: z
      .array(taskId)
      .min(1)
      .max(MAX_ITEMS)
      .optional()
      .describe('Ids of the tasks, instead of a filter'),
    dry_run: z
      .boolean()
      .optional()
      .describe('True: only count the tasks that match the filter, and cancel nothing'),
    reason,
  }),
  output: z.object({
    count: z.int().describe('Number of tasks that this call canceled'),
    matched: z.int().describe('Number of open tasks that matched the filter, or of tasks in task_ids'),
    skipped: z
      .int()
      .describe(
        'Number of matched tasks that were not canceled: they had ended, do not exist or are not yours',
      ),
    more: z.boolean().describe('Whether more tasks may match: call again with cursor: next_cursor'),
    next_cursor: z
      .string()
      .nullable()
      .describe('Send it as cursor to continue where this call stopped; null if nothing is left'),
  }),
  actor: 'agent',
  access: 'cancel',
  toolsets: ['operator'],
  rest: { method: 'POST', path: '/v1/tasks/cancel' },
  effect: ENDS,
  example: { principal_id: 'planner', labels: { team: 'search' }, reason: 'no longer needed' },
  isLong: true,
  async run({ engine }, caller, { task_ids, reason = null, limit, cursor, all, dry_run, ...filter }, signal) {
    const isFiltered = !isEmpty(filter)
    if (all && isFiltered) throw invalid('all', 'cannot be combined with a filter')
    if (task_ids !== undefined && (isFiltered || all || limit !== undefined || cursor !== undefined)) {
      throw invalid('task_ids', 'cannot be combined with a filter')
    }
    if (task_ids !== undefined && dry_run) throw invalid('dry_run', 'requires a filter')
    const { tenant } = await engine.tenant(caller.tenant)
    const end = (ids: Iterable<string>) => endAll(engine, caller, tenant, reason, ids)
    if (task_ids !== undefined) {
      const { count, skipped, fault } = await end(new Set(task_ids))
      if (fault !== undefined) throw fault
      return { count, matched: count + skipped, skipped, more: false, next_cursor: null }
    }
    if (!isFiltered && !all) {
      throw invalid('', 'has neither a filter nor task_ids; use all: true for every task')
    }

    const visible = visibleTo(caller, filter)
    const scope = { tenant, query: { list: 'cancel', ...visible } }
    // From the newest down, so that tasks created during the call are never reached.
    let position: number | null =
      cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
    const search = searchFor(visible, await searchTime(engine, visible), OPEN_STATUSES)
    const over = performance.now() + MAX_MS
    let count = 0
    let skipped = 0
    /** Tasks that a dry run counted. */
    let fitted = 0
    while (position !== null) {
      const left = limit === undefined ? PORTION : Math.min(PORTION, limit - count - fitted)
      if (left === 0 || signal?.aborted || performance.now() > over) break
      const found = await findTasks(engine, tenant, search, position, left)
      const ids = found.lines.map((line) => line.task_id)
      fitted += dry_run ? ids.length : 0
      const ended = await end(dry_run ? [] : ids)
      count += ended.count
      skipped += ended.skipped
      if (ended.fault !== undefined) {
        // The caller must learn what was done. If the fault persists, the next call reports it.
        if (count === 0) throw ended.fault
        break
      }
      position = found.next
      // A search without a match does not yield to other requests by itself.
      await nextTurn()
    }
    const next_cursor = position === null ? null : await engine.cursors.write(scope, position)
    return { count, matched: count + skipped + fitted, skipped, more: position !== null, next_cursor }
  },
})

interface Ended {
  readonly count: number
  readonly skipped: number
  /** Why some tasks could not be processed. */
  readonly fault: Fault | undefined
}

async function endAll(
  engine: Engine,
  caller: Caller,
  tenant: number,
  reason: string | null,
  ids: Iterable<string>,
): Promise<Ended> {
  const by = principalKey(caller.principal)
  const outcomes = await Promise.all(
    Array.from(ids, (task_id) =>
      engine.submitConfirmed({ verb: 'cancel', tenant, task_id, by, role: caller.role, reason }).then(
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

/** Whether a filter matches every task. An empty set of labels does. */
export function isEmpty({
  labels,
  ...fields
}: Readonly<Record<string, unknown>> & { readonly labels?: object | undefined }): boolean {
  return Object.values(fields).every((value) => value === undefined) && Object.keys(labels ?? {}).length === 0
}
