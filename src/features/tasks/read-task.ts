import { z } from 'zod'
import { checkPermission, checkReader } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Task } from '../../core/task.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine, TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, jsonObject, nextCursor, pageLimit, parse, taskId } from '../input.ts'
import { outlook } from './outlook.ts'
import { type TaskView, taskShape } from './shape.ts'
import { taskSummary } from './summary.ts'
import { progressView, type ViewDeps, viewOf, viewsOf } from './view.ts'

export async function readTask(engine: Engine, tenant: TenantRef, id: string): Promise<TaskRecord> {
  const record = await engine.reading(() => engine.store.reads.task(tenant.tenant, id))
  if (record === undefined) throw new Fault('TASK_NOT_FOUND', { task_id: id })
  return record
}

/** The task, if it exists and the caller is allowed to see it. */
export async function readableTask(engine: Engine, caller: Caller, id: string): Promise<TaskRecord> {
  const record = await readTask(engine, await engine.tenant(caller.tenant), id)
  checkReader(record.task, caller)
  return record
}

export const taskIdInput = z.strictObject({ task_id: taskId })

/** Like get_task, for a caller that only checks the status: the result does not count as fetched. */
export async function peekTask(deps: ViewDeps, caller: Caller, input: unknown): Promise<TaskView> {
  checkPermission(caller, 'read')
  const { task_id } = parse(taskIdInput, input)
  return viewOf(deps, await readableTask(deps.engine, caller, task_id))
}

const peekTasksInput = z.strictObject({ task_ids: z.array(z.string()).max(1000) })

/** The same for many tasks. Tasks that do not exist or that the caller may not see are left out. */
export async function peekTasks(deps: ViewDeps, caller: Caller, input: unknown): Promise<TaskView[]> {
  const { engine, cancellations } = deps
  checkPermission(caller, 'read')
  const known = parse(peekTasksInput, input).task_ids.filter(isUuid)
  if (known.length === 0) return []
  const { tenant } = await engine.tenant(caller.tenant)
  const views: TaskView[] = []
  let lines: readonly TaskLine[] = await engine.reading(() => engine.store.reads.lines(tenant, known))
  while (lines.length > 0) {
    const { rows, covered } = await readRecords(engine, tenant, lines)
    const readable = rows.filter(({ task }) => mayRead(task, caller))
    for (const view of await viewsOf(cancellations, tenant, readable)) {
      const { hint } = await outlook(deps, tenant, view.type, view.task_id, view.status)
      views.push(hint === undefined ? view : { ...view, hint })
    }
    lines = lines.slice(covered)
  }
  return views
}

function mayRead(task: Task, caller: Caller): boolean {
  try {
    checkReader(task, caller)
    return true
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}

export const getTask = defineOperation({
  name: 'get_task',
  title: 'Get a task',
  description:
    'Returns the current state of a task: status, progress and, once it has ended (succeeded, failed or canceled), its result. ' +
    'To wait for the end use wait_for_task instead of polling.',
  input: taskIdInput,
  output: taskShape,
  access: 'read',
  toolsets: ['agent', 'operator'],
  summary: taskSummary,
  rest: { method: 'GET', path: '/v1/tasks/{task_id}' },
  async run(services, caller, { task_id }) {
    const record = await readableTask(services.engine, caller, task_id)
    services.fetches.note(record.task, principalKey(caller.principal))
    return viewOf(services, record)
  },
})

export const getTaskProgress = defineOperation({
  name: 'get_task_progress',
  title: 'List the progress reports of a task',
  description:
    'Returns all progress reports of a task, oldest first unless order is newest. ' +
    'Follow next_cursor until it is null. get_task returns only the latest report.',
  input: z.strictObject({
    task_id: taskId,
    limit: pageLimit,
    cursor,
    order: z.enum(['oldest', 'newest']).default('oldest').describe('Which reports come first'),
  }),
  output: z.object({
    progress: z
      .array(
        jsonObject.describe(
          'The fields of the report (percent, message, ...), with updated_at and run_id, the lease under which it was sent',
        ),
      )
      .readonly()
      .describe('The reports, in the requested order'),
    next_cursor: nextCursor,
  }),
  access: 'read',
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/progress' },
  async run({ engine }, caller, { task_id, limit, cursor, order }) {
    const { tenant, progress_count } = (await readableTask(engine, caller, task_id)).task
    const scope = { tenant, query: { list: 'progress', task_id, order } }
    const isNewest = order === 'newest'
    const start = isNewest ? progress_count + 1 : 0
    const from = cursor === undefined ? start : await engine.cursors.read(scope, cursor)
    // Reports are numbered 1, 2, 3, ... so the newest are found by their numbers.
    const after = isNewest ? Math.max(0, from - 1 - limit) : from
    const size = isNewest ? from - 1 - after : limit
    const found = await engine.reading(() => engine.store.reads.progress(tenant, task_id, after, size + 1))
    const page = found.slice(0, size)
    const hasMore = isNewest ? after > 0 : found.length > limit
    const next = isNewest ? after + 1 : (page.at(-1)?.n ?? 0)
    const progress = page.map((entry) => ({ ...progressView(entry), run_id: entry.lease_id }))
    return {
      progress: isNewest ? progress.reverse() : progress,
      next_cursor: hasMore ? await engine.cursors.write(scope, next) : null,
    }
  },
})
