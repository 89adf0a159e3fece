import { Fault } from '../../core/errors.ts'
import { answerQuestion } from '../../features/questions/decision.ts'
import { cancelTask } from '../../features/tasks/cancel-tasks.ts'
import { retryTask } from '../../features/tasks/retry-task.ts'
import type { TaskCounts } from '../../features/tasks/shape.ts'
import { countTasks, listTasks } from '../../features/tasks/task-search.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { command, count, empty, form, heading, hidden, notice, pager, statusOf } from '../components.ts'
import { itemPath, jsonIn, jsonOrTextIn, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { bulkCard, bulkRoutes } from './bulk.ts'
import { showTask, taskRawRoutes } from './task.ts'
import {
  queryOfFields,
  searchForm,
  statusCounts,
  statusesIn,
  TASKS,
  tasksWith,
  withoutStatus,
} from './task-query.ts'
import { taskTable } from './task-table.ts'

const PAGE_SIZE = 50

export const taskRoutes = [
  page('/tasks', showTasks),
  ...bulkRoutes,
  page('/tasks/{task_id}', showTask),
  ...taskRawRoutes,
  action('/tasks/{task_id}/cancel', async ({ call, params: { task_id = '' }, form }) => {
    const { ok } = await call(cancelTask, { task_id, reason: textIn(form, 'reason') })
    return redirect(itemPath('tasks', task_id), { notice: ok ? 'requested' : 'over' })
  }),
  action(
    '/tasks/{task_id}/retry',
    async ({ call, params: { task_id }, form }) => {
      const created = await call(retryTask, { task_id, payload: jsonIn(form, 'payload') })
      return redirect(itemPath('tasks', created.task_id), { notice: 'retried' })
    },
    showTask,
  ),
  action(
    '/tasks/{task_id}/answer',
    async ({ call, params: { task_id = '' }, form }) => {
      const read = READERS.get(form.get('content_is') ?? '') ?? jsonIn
      const action = textIn(form, 'action')
      const answer = action === undefined ? { content: read(form, 'content') } : { action }
      await call(answerQuestion, { task_id, n: numberIn(form, 'n'), ...answer })
      return redirect(itemPath('tasks', task_id), { notice: action ?? 'answered' })
    },
    showTask,
  ),
]

/** How the content of an answer is parsed, by the field content_is of its form. */
const READERS = new Map<string, typeof jsonOrTextIn>([
  ['text', textIn],
  ['either', jsonOrTextIn],
])

async function showTasks(visit: Visit): Promise<Reply> {
  const { query } = visit
  const named = queryOfFields(query)
  if (named !== undefined) return redirect(TASKS, { q: named })
  const q = textIn(query, 'q') ?? ''
  try {
    return await listPage(visit, q)
  } catch (error) {
    // A mistake in the query is shown beside the field, with everything that was typed.
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR' || q === '') throw error
    return {
      title: 'Tasks',
      section: 'tasks',
      status: statusOf(error),
      body: html`${heading('Tasks')}
${searchForm(q, error)}`,
    }
  }
}

async function listPage(visit: Visit, q: string): Promise<Reply> {
  const { call, query, token, now, may } = visit
  const cursor = textIn(query, 'cursor')
  const others = withoutStatus(q)
  const [{ tasks, next_cursor, is_complete }, counts, bulk] = await Promise.all([
    call(listTasks, { query: q || undefined, cursor, limit: PAGE_SIZE }),
    call(countTasks, { query: others || undefined }),
    bulkCard(visit),
  ])
  const matching = matchingIn(q, counts)
  const isAll = query.get('select') === 'all'
  const ids = new Set((query.get('sel') ?? '').split('.'))
  const isOffered = may('cancel')
  const list = html`<div data-live="list">${tasks.length === 0 ? none(q, next_cursor) : taskTable(tasks, q, { isOffered, isAll, ids }, now)}</div>`
  return {
    title: 'Tasks',
    section: 'tasks',
    // Later pages are not updated, because their content would move.
    ...(cursor === undefined && { follows: 'tasks' }),
    ...(bulk.isRunning && { poll: 1 }),
    body: html`${heading('Tasks', html`<a class="soft" href="/console/tasks/bulk-operations">Bulk operations</a>`)}
${notice(query)}
${bulk.card}
${searchForm(q, undefined)}
${statusCounts(q, counts)}
${
  isOffered && tasks.length > 0
    ? form(token, '/console/tasks/bulk', html`${hidden({ q })}${list}${selectionBar(q, matching, isAll)}`)
    : list
}
${!is_complete && html`<p class="soft">The search has read the newest tasks up to its limit. <a href="${tasksWith(q, { cursor: next_cursor ?? undefined })}">Continue with older tasks</a></p>`}
${pager(
  cursor !== undefined && html`<a class="button" href="${tasksWith(q)}">Newest</a>`,
  next_cursor !== null && html`<a class="button" href="${tasksWith(q, { cursor: next_cursor })}">Older</a>`,
)}`,
  }
}

/** The number of tasks that match the query, such as `4,990` or `10,000+`. */
function matchingIn(q: string, counts: TaskCounts): string {
  const sum = statusesIn(q).reduce((total, status) => total + counts[status], 0)
  return `${count(sum)}${counts.more ? '+' : ''}`
}

function none(q: string, next: string | null): Html {
  if (next !== null) return empty('None of the newest tasks match.', 'Older ones may.')
  if (q !== '') return empty('No task matches.', html`<a href="${TASKS}">Show all tasks</a>`)
  return html`<div class="empty"><p class="empty-title">There are no tasks yet.</p>
<p>Agents create tasks over MCP or REST. Create one from the command line, with a worker that echoes it:</p>
${command('npx asyncgate tasks create echo --payload \'{"hello": "world"}\'')}
${command('npx asyncgate worker echo')}</div>`
}

/** What can be done with the selected tasks. It is hidden while none is selected. */
function selectionBar(q: string, matching: string, isAll: boolean): Content {
  if (isAll) {
    const confirm = (act: string) => `/console/tasks/bulk?${new URLSearchParams({ action: act, q })}`
    return html`<div class="bar all" role="region" aria-label="Selection"><strong>All ${matching} matching tasks are selected.</strong>
<a class="button danger" href="${confirm('cancel')}" data-key="c">Cancel the open ones…</a>
<a class="button" href="${confirm('retry')}" data-key="r">Retry the failed and canceled ones…</a>
<a href="${tasksWith(q)}">Clear the selection</a></div>`
  }
  return html`<div class="bar" role="region" aria-label="Selection">
<span class="bar-count" data-selected aria-live="polite"></span>
<a href="${tasksWith(q, { select: 'all' })}">Select all ${matching} matching</a>
<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason to cancel (optional)" maxlength="500" autocomplete="off">
<button class="button" name="action" value="retry" data-key="r">Retry</button>
<button class="button danger" name="action" value="cancel" data-key="c">Cancel</button>
</div>`
}
