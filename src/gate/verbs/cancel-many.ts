import { z } from 'zod'
import { Fault, invalid } from '../../core/errors.ts'
import { checkRole } from '../../core/policy.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../engine.ts'
import { parse, taskId } from '../input.ts'
import { MAX_ITEMS } from '../many.ts'
import { filterFields, type TaskFilter, visibleTo } from '../task-filter.ts'
import { findTasks } from '../task-search.ts'
import { reason } from './cancel.ts'

export const cancelManyInput = z.strictObject({
  ...filterFields,
  task_ids: z.array(taskId).min(1).max(MAX_ITEMS).optional(),
  reason,
})

export interface CancelManyAnswer {
  /** How many tasks this call ended. */
  readonly count: number
  /** Whether there may be more that fit: call again. */
  readonly more: boolean
}

/** Cancels the open tasks that fit a filter, or those that are named. Tasks that have ended are passed over. */
export async function cancelMany(engine: Engine, caller: Caller, input: unknown): Promise<CancelManyAnswer> {
  checkRole(caller, 'cancel')
  const { task_ids, reason, ...filter } = parse(cancelManyInput, input)
  if (task_ids !== undefined && !isEmpty(filter)) throw invalid('task_ids', 'stands beside a filter')
  const { tenant } = await engine.tenant(caller.tenant)
  const found =
    task_ids === undefined ? await search(engine, caller, tenant, filter) : { ids: task_ids, more: false }
  const by = principalKey(caller.principal)
  const answers = await Promise.all(
    found.ids.map((task_id) =>
      engine
        .submit({ verb: 'cancel', tenant, task_id, by, role: caller.role, reason: reason ?? null })
        .catch((error: unknown) => {
          if (error instanceof Fault && (error.code === 'TASK_NOT_FOUND' || error.code === 'FORBIDDEN'))
            return undefined
          throw error
        }),
    ),
  )
  return { count: answers.filter((answer) => answer?.ok).length, more: found.more }
}

async function search(engine: Engine, caller: Caller, tenant: number, filter: TaskFilter) {
  if (isEmpty(filter)) throw invalid('', 'names neither a filter nor task_ids')
  const found = await findTasks(
    engine,
    tenant,
    visibleTo(caller, filter),
    Number.MAX_SAFE_INTEGER,
    MAX_ITEMS,
    (line) => !isTerminal(line.status),
  )
  return { ids: found.lines.map((line) => line.task_id), more: found.next !== null }
}

/** No labels fit every task. */
function isEmpty({ labels, ...fields }: TaskFilter): boolean {
  return Object.values(fields).every((value) => value === undefined) && Object.keys(labels ?? {}).length === 0
}
