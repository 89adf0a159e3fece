import { z } from 'zod'
import { readRecords } from '../../engine/portions.ts'
import { defineOperation, READS } from '../define-operation.ts'
import { cursor, nextCursor, pageLimit } from '../paging.ts'
import { taskShape } from './shape.ts'
import { filterFields, visibleTo } from './task-filter.ts'
import { findTasks } from './task-search.ts'
import { viewsOf } from './view.ts'

export const listTasks = defineOperation({
  name: 'list_tasks',
  title: 'List tasks',
  description:
    'Lists tasks, newest first, filtered by status, type, session_id, created_by or labels. Agents see their own tasks, admins those of the tenant. ' +
    'A page can hold fewer than limit tasks: follow next_cursor until it is null.',
  input: z.strictObject({ ...filterFields, limit: pageLimit, cursor }),
  output: z.object({
    tasks: z.array(taskShape).readonly().describe('The tasks, newest first'),
    next_cursor: nextCursor,
  }),
  actor: 'anyone',
  access: 'list',
  rest: { method: 'GET', path: '/v1/tasks' },
  effect: READS,
  example: { principal_id: 'planner', status: 'failed', labels: { team: 'search' }, limit: 20 },
  async run({ engine, cancellations }, caller, { limit, cursor, ...asked }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const filter = visibleTo(caller, asked)
    const scope = { tenant, query: { list: 'tasks', ...filter } }
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
    const found = await findTasks(engine, tenant, filter, before, limit)
    const { rows, covered } = await readRecords(engine, tenant, found.lines)
    const next = covered < found.lines.length ? (found.lines[covered - 1]?.seq ?? null) : found.next
    return {
      tasks: await viewsOf(cancellations, tenant, rows),
      next_cursor: next === null ? null : await engine.cursors.write(scope, next),
    }
  },
})
