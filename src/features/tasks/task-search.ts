import { z } from 'zod'
import { forbidden, seesAll } from '../../core/authorization.ts'
import { invalid } from '../../core/errors.ts'
import { type Caller, isPrincipalKind, type PrincipalKey, principalKey } from '../../core/principal.ts'
import { STATUSES, type Status } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, labels, nextCursor, pageLimit, text } from '../input.ts'
import { MAX_QUERY } from './search/query.ts'
import { countTasks as count, findTasks } from './search/scan.ts'
import { searchFor, type TaskFilter } from './search/search.ts'
import { taskCountsShape, taskShape } from './shape.ts'
import { taskListSummary } from './summary.ts'
import { viewsOf } from './view.ts'

/** The British spelling is accepted too. */
const status = z.preprocess((value) => (value === 'cancelled' ? 'canceled' : value), z.enum(STATUSES))

export const filterFields = {
  status: status.optional().describe('Only tasks in this status'),
  type: text(255).optional().describe('Only tasks of this type'),
  created_by: text(300).optional().describe('Only tasks of this owner: the id of an agent, or kind:id'),
  session_id: text(255).optional().describe('Only tasks with this session_id'),
  labels: labels
    .optional()
    .describe('Only tasks with all of these labels; in a query string label.NAME=VALUE, one for each'),
  query: text(MAX_QUERY)
    .optional()
    .describe(
      'Conditions in the search language, such as: type:mail.* status:failed,canceled age:<1h payload.customer_id:42',
    ),
}

/** The filter as a caller states it. */
interface AskedFilter {
  readonly status?: Status | undefined
  readonly type?: string | undefined
  readonly created_by?: string | undefined
  readonly session_id?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly query?: string | undefined
}

/** The filter, narrowed to the tasks that the caller may see: agents see their own. */
export function visibleTo(caller: Caller, { created_by, ...filter }: AskedFilter): TaskFilter {
  const owner = created_by === undefined ? undefined : ownerOf(created_by)
  if (seesAll(caller.role)) return { ...filter, created_by: owner }
  const self = principalKey(caller.principal)
  if (owner !== undefined && owner !== self) throw forbidden('admin', caller.role)
  return { ...filter, created_by: self }
}

/** The owner that a filter names. */
export function ownerOf(createdBy: string): PrincipalKey {
  const colon = createdBy.indexOf(':')
  if (colon < 0) return `agent:${createdBy}`
  const kind = createdBy.slice(0, colon)
  if (!isPrincipalKind(kind)) throw invalid('created_by', 'must be the id of an agent or kind:id')
  return `${kind}:${createdBy.slice(colon + 1)}`
}

/** The time that ages in a query are relative to. It is only read if there is a query. */
export async function searchTime(engine: Engine, { query }: Pick<TaskFilter, 'query'>): Promise<number> {
  return query === undefined ? 0 : engine.reading(() => engine.store.now())
}

export const listTasks = defineOperation({
  name: 'list_tasks',
  title: 'List tasks',
  description:
    'Lists tasks, newest first, filtered by status, type, session_id, created_by, labels or a query. Agents see their own tasks, admins those of the tenant. ' +
    'A page can hold fewer than limit tasks: follow next_cursor until it is null.',
  input: z.strictObject({ ...filterFields, limit: pageLimit, cursor }),
  output: z.object({
    tasks: z.array(taskShape).readonly().describe('The tasks, newest first'),
    next_cursor: nextCursor,
    scanned: z.int().describe('Number of tasks that were read, whether they match or not'),
    is_complete: z
      .boolean()
      .describe('False if the search stopped at its bound; older tasks are searched with next_cursor'),
  }),
  access: 'list',
  toolsets: ['agent', 'operator'],
  modelFields: ['status', 'type', 'session_id', 'labels', 'limit', 'cursor'],
  summary: taskListSummary,
  rest: { method: 'GET', path: '/v1/tasks' },
  example: { principal_id: 'planner', status: 'failed', labels: { team: 'search' }, limit: 20 },
  async run({ engine, cancellations }, caller, { limit, cursor, ...asked }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const filter = visibleTo(caller, asked)
    const scope = { tenant, query: { list: 'tasks', ...filter } }
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : await engine.cursors.read(scope, cursor)
    const search = searchFor(filter, await searchTime(engine, filter))
    const found = await findTasks(engine, tenant, search, before, limit)
    const { rows, covered } = await readRecords(engine, tenant, found.lines)
    const next = covered < found.lines.length ? (found.lines[covered - 1]?.seq ?? null) : found.next
    return {
      tasks: await viewsOf(cancellations, tenant, rows),
      next_cursor: next === null ? null : await engine.cursors.write(scope, next),
      scanned: found.scanned,
      is_complete: found.isComplete,
    }
  },
})

const { status: _, ...countedBy } = filterFields

export const countTasks = defineOperation({
  name: 'count_tasks',
  title: 'Count tasks by status',
  description:
    'Returns the number of tasks in each status, filtered by type, session_id, created_by, labels or a query. Agents count their own tasks, admins those of the tenant. ' +
    'If more is true, the count stopped at its limit and each number is a lower bound.',
  input: z.strictObject(countedBy),
  output: taskCountsShape,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/tasks/counts' },
  example: { principal_id: 'planner', session_id: 'report-2026-01' },
  async run({ engine }, caller, input) {
    const { tenant } = await engine.tenant(caller.tenant)
    const filter = visibleTo(caller, input)
    return count(engine, tenant, searchFor(filter, await searchTime(engine, filter)))
  },
})
