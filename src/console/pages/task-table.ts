import { isTerminal } from '../../core/transitions.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { elapsed, line, principal, spent, status, table, tableRow } from '../components.ts'
import { itemPath } from '../fields.ts'
import { errorSummary } from './task-error.ts'
import { taskQuery, tasksWith, withTerm } from './task-query.ts'
import { peek, titleOf } from './task-title.ts'

const COLUMNS = [
  { label: 'Task and last error', kind: 'wide' },
  { label: 'Status', kind: 'tight' },
  { label: 'Age', kind: 'number', isExtra: true },
  { label: 'Duration', kind: 'number', isExtra: true },
  { label: 'Attempt', kind: 'number', isExtra: true },
  { label: 'Worker', kind: 'tight', isExtra: true },
  { label: 'Agent', kind: 'tight', isExtra: true },
] as const

interface Selection {
  /** Whether rows have a box to select them. */
  readonly isOffered: boolean
  readonly isAll: boolean
  readonly ids: ReadonlySet<string>
}

/** The tasks of a page, newest first. Owners and workers link to the same search narrowed to them. */
export function taskTable(
  tasks: readonly TaskView[],
  query: string,
  selection: Selection,
  now: number,
): Html {
  const rows = tasks.map((task) =>
    tableRow(task.task_id, COLUMNS, [
      html`<div class="clip">${selection.isOffered && box(task, selection)}<a href="${itemPath('tasks', task.task_id)}">${line(titleOf(task), 80)}</a> ${lastError(task) ?? about(task)}</div>`,
      status(task.status),
      elapsed(task.created_at, now),
      durationOf(task, now),
      html`${Math.min(task.attempt + 1, task.max_attempts)}<span class="soft">/${task.max_attempts}</span>`,
      task.worker_id !== null &&
        html`<a class="plain" href="${tasksWith(withTerm(query, taskQuery('worker', task.worker_id)))}">${line(task.worker_id, 24)}</a>`,
      html`<a class="plain" href="${tasksWith(withTerm(query, taskQuery('agent', `${task.created_by.kind}:${task.created_by.id}`)))}">${principal(task.created_by)}</a>`,
    ]),
  )
  return table('Tasks', COLUMNS, rows)
}

function box(task: TaskView, { isAll, ids }: Selection): Html {
  const isOver = task.status === 'succeeded'
  const isChecked = !isOver && (isAll || ids.has(task.task_id))
  return html`<label class="pick"><input type="checkbox" name="task_id" value="${task.task_id}"${[isOver && html` disabled`, isChecked && html` checked`]}><span class="quiet">Select ${line(titleOf(task), 60)}</span></label>`
}

function about(task: TaskView): Html {
  return task.summary === null
    ? html`<code class="soft">${line(peek(task), 160)}</code>`
    : html`<span class="soft">${line(task.summary, 160)}</span>`
}

/** The time of the current or last attempt. */
export function durationOf({ status: state, started_at, result }: TaskView, now: number): Content {
  if (started_at === null) return html`<span class="soft">–</span>`
  if (result !== undefined) return spent(Date.parse(result.completed_at) - Date.parse(started_at))
  return isTerminal(state) || state === 'queued'
    ? html`<span class="soft">–</span>`
    : elapsed(started_at, now)
}

function lastError({ status: state, result }: TaskView): Html | undefined {
  if (state !== 'failed' || result === undefined) return undefined
  const { code, message } = errorSummary(result.error)
  return html`<span class="error-text">${code !== undefined && html`<code>${line(code, 40)}</code> `}${line(message, 120)}</span>`
}
