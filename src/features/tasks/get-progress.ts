import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { JsonObject } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import { parse, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import type { Services } from '../services.ts'
import { progressView } from '../view.ts'
import { readableTask } from './get-task.ts'

export const getProgressInput = z.strictObject({
  task_id: taskId,
  limit: pageLimit,
  cursor: text(512).optional().meta({ description: 'next_cursor of the page before' }),
  order: z.enum(['oldest', 'newest']).default('oldest'),
})

export interface ProgressPage {
  readonly progress: readonly JsonObject[]
  /** Null at the end. */
  readonly next_cursor: string | null
}

/** What the workers reported, oldest first unless asked otherwise, each with the lease under which it was reported. */
export async function getProgress(engine: Services, caller: Caller, input: unknown): Promise<ProgressPage> {
  checkRole(caller, 'read')
  const { task_id, limit, cursor, order } = parse(getProgressInput, input)
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
}
