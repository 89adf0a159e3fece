import { z } from 'zod'
import { defineOperation, READS } from '../define-operation.ts'
import { jsonObject, taskId } from '../input.ts'
import { cursor, nextCursor, pageLimit } from '../paging.ts'
import { readableTask } from './read-task.ts'
import { progressView } from './view.ts'

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
  actor: 'anyone',
  access: 'read',
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/progress' },
  effect: READS,
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
