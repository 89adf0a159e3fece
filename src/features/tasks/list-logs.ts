import { z } from 'zod'
import { checkReader } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import { LOG_LEVELS } from '../../core/log.ts'
import { isoTime } from '../../core/time.ts'
import type { LogLine } from '../../store/entries.ts'
import { cleanLine } from '../../util/untrusted-text.ts'
import { defineOperation } from '../define-operation.ts'
import { cursor, jsonObject, nextCursor, pageLimit, taskId, time } from '../input.ts'
import { objectOf } from '../policies/values.ts'
import { age, summaryView } from '../summary.ts'

const lineShape = z.object({
  at: time.describe('Time at which the server stored the line'),
  level: z.enum(LOG_LEVELS).describe('Severity of the line'),
  text: z.string().describe('Text of the line'),
  context: jsonObject.optional().describe('Data that the worker added to the line'),
  truncated: z
    .literal(true)
    .optional()
    .describe('Present on the last line of a full log: everything after it was dropped'),
})

export type LogLineView = z.output<typeof lineShape>

const MAX_TEXT = 200

const rowShape = lineShape.pick({ level: true, text: true, truncated: true }).extend({
  age: z.string().describe('Time since the server stored the line, such as 3m'),
})

const logSummary = summaryView({
  shape: z.object({ lines: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { lines: readonly LogLineView[]; next_cursor: string | null }, now) => ({
    lines: page.lines.map(({ at, level, text, truncated }) => ({
      age: age(at, now),
      level,
      text: cleanLine(text, MAX_TEXT),
      ...(truncated && { truncated }),
    })),
    next_cursor: page.next_cursor,
  }),
})

export const listLogs = defineOperation({
  name: 'list_logs',
  title: 'List the log of a task',
  description:
    'Returns the lines that workers logged about a task, oldest first. A line with truncated: true means that the log is full. ' +
    'For the progress of the work use get_task.',
  input: z.strictObject({ task_id: taskId, limit: pageLimit, cursor }),
  output: z.object({
    lines: z.array(lineShape).readonly().describe('The lines, oldest first'),
    next_cursor: nextCursor,
  }),
  summary: logSummary,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/tasks/{task_id}/logs' },
  async run({ engine }, caller, { task_id, limit, cursor }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const task = await engine.reading(() => engine.store.reads.state(tenant, task_id))
    if (task === undefined) throw new Fault('TASK_NOT_FOUND', { task_id })
    checkReader(task, caller)
    const scope = { tenant, query: { list: 'logs', task_id } }
    const after = cursor === undefined ? 0 : await engine.cursors.read(scope, cursor)
    const found = await engine.reading(() => engine.store.logs.list(tenant, task_id, after, limit + 1))
    const lines = found.slice(0, limit)
    const last = lines.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return {
      lines: lines.map(logView),
      next_cursor: hasMore ? await engine.cursors.write(scope, last.n) : null,
    }
  },
})

export function logView({ at, level, text, context, is_last }: LogLine): LogLineView {
  return {
    at: isoTime(at),
    level,
    text,
    ...(context !== null && { context: objectOf(parseCanonical(context)) }),
    ...(is_last && { truncated: true }),
  }
}
