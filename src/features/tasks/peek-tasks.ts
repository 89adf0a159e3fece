import { z } from 'zod'
import { checkReader, checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { Caller } from '../../core/principal.ts'
import type { Task } from '../../core/task.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { viewsOf } from './task-views.ts'

const peekTasksInput = z.strictObject({ task_ids: z.array(z.string()).max(1000) })

/** Those of the tasks that there are and the caller may see, for who watches them: no result counts as fetched. */
export async function peekTasks(engine: Services, caller: Caller, input: unknown): Promise<TaskView[]> {
  checkRole(caller, 'read')
  const known = parse(peekTasksInput, input).task_ids.filter(isUuid)
  if (known.length === 0) return []
  const { tenant } = await engine.tenant(caller.tenant)
  const views: TaskView[] = []
  let lines: readonly TaskLine[] = await engine.reading(() => engine.store.reads.lines(tenant, known))
  while (lines.length > 0) {
    const { rows, covered } = await readRecords(engine, tenant, lines)
    const readable = rows.filter(({ task }) => mayRead(task, caller))
    views.push(...(await viewsOf(engine, tenant, readable)))
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
