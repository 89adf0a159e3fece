import { z } from 'zod'
import { taskTime } from '../../core/ids.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedOrNull } from '../../engine/stored-json.ts'
import { isObject } from '../../util/guards.ts'
import { time } from '../input.ts'

const DAY_MS = 86_400_000
/** The newest failed tasks that are counted. */
const SCANNED = 500
const MAX_TYPES = 10
const MAX_MESSAGE = 500

export const failingTypeShape = z.object({
  type: z.string().describe('Type of the tasks'),
  failed: z.int().describe('Number of tasks created in the last day that failed, among the newest 500'),
  last_task_id: z.string().describe('The newest of them'),
  last_failed_at: time.describe('When it failed'),
  last_error: z.string().describe('Its error; cut if it is long'),
})

export type FailingType = z.output<typeof failingTypeShape>

/** The types of the newest failed tasks, those with the most failures first. */
export async function failingTypes(engine: Engine, tenant: number, now: number): Promise<FailingType[]> {
  const { reads } = engine.store
  const lines = await reads.scan(tenant, { by: 'status', status: 'failed' }, Number.MAX_SAFE_INTEGER, SCANNED)
  const byType = new Map<string, { failed: number; readonly newest: string }>()
  for (const { type, task_id } of lines) {
    if (taskTime(task_id) < now - DAY_MS) continue
    const known = byType.get(type)
    if (known === undefined) byType.set(type, { failed: 1, newest: task_id })
    else known.failed++
  }
  const top = [...byType].sort(([, a], [, b]) => b.failed - a.failed).slice(0, MAX_TYPES)
  const tasks = await reads.tasks(
    tenant,
    top.map(([, { newest }]) => newest),
  )
  return top.flatMap(([type, { failed, newest }]) => {
    const found = tasks.find(({ task }) => task.task_id === newest)?.task
    if (found === undefined || !('outcome' in found)) return []
    const { completed_at, error } = found.outcome
    return {
      ...{ type, failed, last_task_id: newest },
      last_failed_at: isoTime(completed_at),
      last_error: messageOf(storedOrNull(error)).slice(0, MAX_MESSAGE),
    }
  })
}

/** Workers report errors as objects with a message; other JSON is shown as it is. */
function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (isObject(error) && typeof error.message === 'string') {
    return typeof error.code === 'string' ? `${error.code}: ${error.message}` : error.message
  }
  return error === null ? 'no error was reported' : JSON.stringify(error)
}
