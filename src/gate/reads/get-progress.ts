import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { checkRole } from '../../core/policy.ts'
import type { Caller } from '../../core/principal.ts'
import type { Engine } from '../engine.ts'
import { parse, taskId, text } from '../input.ts'
import { progressView } from '../view.ts'
import { readableTask } from './get-task.ts'
import { pageLimit } from './paging.ts'

export const getProgressInput = z.strictObject({
  task_id: taskId,
  limit: pageLimit,
  cursor: text(512).optional().meta({ description: 'next_cursor of the page before' }),
})

export interface ProgressPage {
  readonly progress: readonly JsonObject[]
  /** Null at the end. */
  readonly next_cursor: string | null
}

/** What the workers reported, oldest first, each with the lease under which it was reported. */
export async function getProgress(engine: Engine, caller: Caller, input: unknown): Promise<ProgressPage> {
  checkRole(caller, 'read')
  const { task_id, limit, cursor } = parse(getProgressInput, input)
  const { tenant } = (await readableTask(engine, caller, task_id)).task
  const scope = { tenant, query: { list: 'progress', task_id } }
  const after = cursor === undefined ? 0 : await engine.cursors.read(scope, cursor)
  const found = await engine.reading(() => engine.store.reads.progress(tenant, task_id, after, limit + 1))
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : undefined
  return {
    progress: page.map((entry) => ({ ...progressView(entry), run_id: entry.lease_id })),
    next_cursor: last === undefined ? null : await engine.cursors.write(scope, last.n),
  }
}
