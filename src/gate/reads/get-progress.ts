import { z } from 'zod'
import { checkRole } from '../../core/policy.ts'
import type { Caller } from '../../core/principal.ts'
import type { Engine } from '../engine.ts'
import { parse, taskId } from '../input.ts'
import { progressView } from '../view.ts'
import { readableTask } from './get-task.ts'
import { pageLimit } from './paging.ts'

export const getProgressInput = z.strictObject({ task_id: taskId, limit: pageLimit })

/** What the workers reported, oldest first. */
export async function getProgress(engine: Engine, caller: Caller, input: unknown) {
  checkRole(caller, 'read')
  const { task_id, limit } = parse(getProgressInput, input)
  const { task } = await readableTask(engine, caller, task_id)
  const entries = await engine.reading(() => engine.store.reads.progress(task.tenant, task_id, limit))
  return { progress: entries.map(progressView) }
}
