import { type CanonicalJson, parseCanonical } from '../../core/json/json.ts'
import { isOpen } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import { isObject } from '../../util/guards.ts'
import type { TaskTypes } from '../task-types/task-types.ts'
import { storedInput } from '../tasks/task-input.ts'
import { ownWebhookUrl, webhookUrlOf } from './delivery.ts'

/** The completion webhook of a task that has ended. */
export interface CompletedTask {
  readonly task_id: string
  readonly url: string
  /** One for each terminal state, and therefore one for each task. */
  readonly id: string
  readonly body: string
}

/** The completion webhooks of these tasks. Tasks that have none, or that do not exist any more, are left out. */
export async function completedTasks(
  { engine, taskTypes }: { readonly engine: Engine; readonly taskTypes: TaskTypes },
  tenant: number,
  taskIds: readonly string[],
): Promise<CompletedTask[]> {
  const found: CompletedTask[] = []
  let lines: readonly TaskLine[] = await engine.reading(() => engine.store.reads.lines(tenant, taskIds))
  while (lines.length > 0) {
    const { rows, covered } = await readRecords(engine, tenant, lines)
    for (const { task, spec } of rows) {
      if (isOpen(task)) continue
      const url = await webhookUrlOf(taskTypes, tenant, spec.type, ownWebhookUrl(spec.input))
      if (url === undefined) continue
      const { task_id, status, outcome } = task
      const completed_at = isoTime(outcome.completed_at)
      const data = {
        task_id,
        type: spec.type,
        status,
        error_code: codeOf(outcome.error),
        created_at: isoTime(spec.created_at),
        completed_at,
        session_id: spec.session_id,
        labels: storedInput(spec.input).labels ?? {},
        links: { task: `/v1/tasks/${task_id}` },
      }
      const body = JSON.stringify({ type: `task.${status}`, timestamp: completed_at, data })
      found.push({ task_id, url, id: `${task_id}.${status}`, body })
    }
    lines = lines.slice(covered)
  }
  return found
}

/** Not the message of the error, which can contain data of the task. */
function codeOf(error: CanonicalJson | null): string | null {
  const value = error === null ? null : parseCanonical(error)
  return isObject(value) && typeof value.code === 'string' ? value.code : null
}
