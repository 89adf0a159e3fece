import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { readRecords } from '../../engine/portions.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { filterFields, visibleTo } from './task-filter.ts'
import { findTasks } from './task-search.ts'
import { viewsOf } from './task-views.ts'

export const listTasksInput = z.strictObject({
  ...filterFields,
  limit: pageLimit,
  cursor: text(512).optional(),
})

export interface TaskPage {
  readonly tasks: readonly TaskView[]
  /** Null at the end. A page may hold fewer than `limit` and still go on. */
  readonly next_cursor: string | null
}

/** Newest first, as many as fit into an answer. Agents see their own tasks, admins those of the tenant. */
export async function listTasks(engine: Services, caller: Caller, input: unknown): Promise<TaskPage> {
  checkRole(caller, 'list')
  const { limit, cursor, ...asked } = parse(listTasksInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const filter = visibleTo(caller, asked)
  const scope = { tenant, query: { list: 'tasks', ...filter } }
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
  const found = await findTasks(engine, tenant, filter, before, limit)
  const { rows, covered } = await readRecords(engine, tenant, found.lines)
  const next = covered < found.lines.length ? (found.lines[covered - 1]?.seq ?? null) : found.next
  return {
    tasks: await viewsOf(engine, tenant, rows),
    next_cursor: next === null ? null : await engine.cursors.write(scope, next),
  }
}
