import { z } from 'zod'
import { checkReader, checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { type JsonObject, parseCanonical } from '../../core/json/json.ts'
import type { LogLevel } from '../../core/log.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { LogLine } from '../../store/logs.ts'
import { parse, taskId, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import { objectOf } from '../policies/values.ts'
import type { Services } from '../services.ts'

export const listLogsInput = z.strictObject({
  task_id: taskId,
  limit: pageLimit,
  cursor: text(512).optional(),
})

export interface LogLineView {
  readonly at: string
  readonly level: LogLevel
  readonly text: string
  readonly context?: JsonObject
  /** The log was full, and what came after this line was dropped. */
  readonly truncated?: true
}

export interface LogPage {
  readonly lines: readonly LogLineView[]
  /** Null at the end, as it is now. */
  readonly next_cursor: string | null
}

/** What the workers logged about a task, oldest first. */
export async function listLogs(engine: Services, caller: Caller, input: unknown): Promise<LogPage> {
  checkRole(caller, 'read')
  const { task_id, limit, cursor } = parse(listLogsInput, input)
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
    lines: lines.map(lineView),
    next_cursor: hasMore ? await engine.cursors.write(scope, last.n) : null,
  }
}

function lineView({ at, level, text, context, is_last }: LogLine): LogLineView {
  return {
    at: isoTime(at),
    level,
    text,
    ...(context !== null && { context: objectOf(parseCanonical(context)) }),
    ...(is_last && { truncated: true }),
  }
}
