import { z } from 'zod'
import { checkReader, checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { Caller } from '../../core/principal.ts'
import type { Task } from '../../core/task.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine, TaskRecord } from '../../store/reads.ts'
import type { TenantRef } from '../../store/store.ts'
import { parse, taskId } from '../input.ts'
import type { Cancellations } from './cancellations.ts'
import type { TaskView } from './shape.ts'
import { type ViewDeps, viewOf, viewsOf } from './view.ts'

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
export async function peekTask(
  deps: ViewDeps & { readonly engine: Engine },
  caller: Caller,
  input: unknown,
): Promise<TaskView> {
  checkRole(caller, 'read')
  const { task_id } = parse(taskIdInput, input)
  return viewOf(deps, await readableTask(deps.engine, caller, task_id))
}

const peekTasksInput = z.strictObject({ task_ids: z.array(z.string()).max(1000) })

/** The same for many tasks. Tasks that do not exist or that the caller may not see are left out. */
export async function peekTasks(
  { engine, cancellations }: { readonly engine: Engine; readonly cancellations: Cancellations },
  caller: Caller,
  input: unknown,
): Promise<TaskView[]> {
  checkRole(caller, 'read')
  const known = parse(peekTasksInput, input).task_ids.filter(isUuid)
  if (known.length === 0) return []
  const { tenant } = await engine.tenant(caller.tenant)
  const views: TaskView[] = []
  let lines: readonly TaskLine[] = await engine.reading(() => engine.store.reads.lines(tenant, known))
  while (lines.length > 0) {
    const { rows, covered } = await readRecords(engine, tenant, lines)
    const readable = rows.filter(({ task }) => mayRead(task, caller))
    views.push(...(await viewsOf(cancellations, tenant, readable)))
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
