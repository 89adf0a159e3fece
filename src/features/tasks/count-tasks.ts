import { z } from 'zod'
import { defineOperation, READS } from '../define-operation.ts'
import { taskCountsShape } from './shape.ts'
import { filterFields, visibleTo } from './task-filter.ts'
import { countFitting } from './task-search.ts'

const { status: _, ...countedBy } = filterFields

export const countTasks = defineOperation({
  name: 'count_tasks',
  title: 'Count tasks by status',
  description:
    'Returns the number of tasks in each status, filtered by type, session_id, created_by or labels. Agents count their own tasks, admins those of the tenant. ' +
    'If more is true, the count stopped at its limit and each number is a lower bound.',
  input: z.strictObject(countedBy),
  output: taskCountsShape,
  actor: 'anyone',
  access: 'list',
  rest: { method: 'GET', path: '/v1/tasks/counts' },
  effect: READS,
  example: { principal_id: 'planner', session_id: 'report-2026-01' },
  async run({ engine }, caller, input) {
    const { tenant } = await engine.tenant(caller.tenant)
    return countFitting(engine, tenant, visibleTo(caller, input))
  },
})
