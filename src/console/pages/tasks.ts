import { STATUSES, TERMINAL_STATUSES } from '../../core/transitions.ts'
import { answerQuestion } from '../../features/questions/decision.ts'
import { listReceipts } from '../../features/receipts/list-receipts.ts'
import { cancelTask, cancelTasks } from '../../features/tasks/cancel-tasks.ts'
import { getTask, getTaskProgress } from '../../features/tasks/read-task.ts'
import { retryTask } from '../../features/tasks/retry-task.ts'
import type { TaskCounts, TaskView } from '../../features/tasks/shape.ts'
import { countTasks, listTasks } from '../../features/tasks/task-search.ts'
import { type Html, html } from '../../util/html.ts'
import {
  count,
  empty,
  facts,
  form,
  heading,
  hidden,
  line,
  notice,
  pager,
  principal,
  status,
  time,
} from '../components.ts'
import { type Fields, itemPath, jsonIn, jsonOrTextIn, link, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { taskPage } from './task.ts'
import { peek, titleOf } from './task-title.ts'

const LIST = '/console/tasks'

const PAGE_SIZE = 50

/** Receipts and progress reports on the page of a task. */
const ON_TASK_PAGE = 50

/** The fields of a filter, with their labels. */
const FILTER = { status: 'Status', type: 'Type', created_by: 'Owner', session_id: 'Session' } as const

type Filter = Readonly<Record<keyof typeof FILTER, string | undefined>>

function filterIn(fields: URLSearchParams): Filter {
  return {
    status: textIn(fields, 'status'),
    type: textIn(fields, 'type'),
    created_by: textIn(fields, 'created_by'),
    session_id: textIn(fields, 'session_id'),
  }
}

function isSet(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== undefined)
}

/** The selection of cancel_tasks, which requires `all` if there is no filter. */
function selected(filter: Filter): Fields {
  return isSet(filter) ? filter : { all: true }
}

export const taskRoutes = [
  page('/tasks', showTasks),
  action('/tasks/cancel', async ({ call, form }) => {
    const filter = filterIn(form)
    const task_ids = form.getAll('task_id')
    if (task_ids.length === 0) return redirect(LIST, { ...filter, notice: 'none' })
    return cancel(call, filter, { task_ids, reason: textIn(form, 'reason') })
  }),
  page('/tasks/cancel-all', confirmCancel),
  action('/tasks/cancel-all', async ({ call, form }) => {
    const filter = filterIn(form)
    return cancel(call, filter, { ...selected(filter), reason: textIn(form, 'reason') })
  }),
  page('/tasks/{task_id}', showTask),
  action('/tasks/{task_id}/cancel', async ({ call, params: { task_id = '' }, form }) => {
    const { ok } = await call(cancelTask, { task_id, reason: textIn(form, 'reason') })
    return redirect(itemPath('tasks', task_id), { notice: ok ? 'requested' : 'over' })
  }),
  action('/tasks/{task_id}/retry', async ({ call, params: { task_id } }) => {
    const created = await call(retryTask, { task_id })
    return redirect(itemPath('tasks', created.task_id), { notice: 'retried' })
  }),
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

async function showTask(visit: Visit): Promise<Reply> {
  const { call, params, query } = visit
  const { task_id } = params
  const newest = { task_id, order: 'newest', limit: ON_TASK_PAGE }
  const [task, receipts, { progress }] = await Promise.all([
    call(getTask, { task_id }),
    call(listReceipts, { ...newest, since_receipt_id: textIn(query, 'receipts') }),
    call(getTaskProgress, newest),
  ])
  return taskPage(task, receipts, progress.toReversed(), visit)
}

async function cancel(call: Visit['call'], filter: Filter, selection: Fields): Promise<Reply> {
  const canceled = await unless('TASK_NOT_FOUND', call(cancelTasks, selection), undefined)
  if (canceled === undefined) return redirect(LIST, { ...filter, notice: 'none', done: 0, kept: 0 })
  const { count, skipped, more } = canceled
  return redirect(LIST, {
    ...filter,
    notice: more ? 'canceled_some' : 'canceled',
    done: count,
    kept: skipped,
  })
}

/** Shows how many tasks would be canceled. */
async function confirmCancel({ call, query, token }: Visit): Promise<Reply> {
  const filter = filterIn(query)
  const { matched, more } = await call(cancelTasks, { ...selected(filter), dry_run: true })
  const number = `${more ? 'more than ' : ''}${count(matched)} open ${matched === 1 && !more ? 'task' : 'tasks'}`
  const back = link(LIST, filter)
  const criteria = Object.entries(FILTER).map(([field, name]) => {
    const value = textIn(query, field)
    return value === undefined ? undefined : { name, value: line(value) }
  })
  return {
    title: 'Cancel all',
    section: 'tasks',
    body: html`${heading(matched === 0 ? 'There is nothing to cancel' : `Cancel ${number}?`)}
<div class="card">
${isSet(filter) ? facts(criteria) : html`<p><strong>No filter is set:</strong> this is every open task.</p>`}
${
  matched === 0
    ? html`<p>No open task matches.</p><a class="button" href="${back}">Back</a>`
    : form(
        token,
        '/console/tasks/cancel-all',
        html`${hidden(filter)}
<p>Queued tasks are canceled immediately; workers of running tasks are notified to stop. Tasks that are created from now on are not canceled. Closing the page stops the operation.</p>
<label for="reason">Reason</label><input id="reason" name="reason" maxlength="500" autocomplete="off">
<div class="buttons"><button class="button danger solid">Cancel ${number}</button><a class="button" href="${back}">Back</a></div>`,
      )
}
</div>`,
  }
}

async function showTasks({ call, query, token, now }: Visit): Promise<Reply> {
  const filter = filterIn(query)
  const cursor = textIn(query, 'cursor')
  const [{ tasks, next_cursor }, counts] = await Promise.all([
    call(listTasks, { ...filter, cursor, limit: PAGE_SIZE }),
    call(countTasks, { ...filter, status: undefined }),
  ])
  return {
    title: 'Tasks',
    section: 'tasks',
    // Later pages are not updated, because their content would move.
    ...(cursor === undefined && { follows: 'tasks' }),
    body: html`${heading('Tasks', html`<a class="button danger" href="${link('/console/tasks/cancel-all', filter)}">Cancel all that match…</a>`)}
${notice(query)}
${filterForm(filter)}
<p class="soft" data-live="counts">${countsLine(counts)}</p>
${form(
  token,
  '/console/tasks/cancel',
  html`${hidden(filter)}
<div data-live="list">${tasks.length === 0 ? none(filter) : html`<ul class="rows tasks">${tasks.map((task) => row(task, now))}</ul>`}</div>
${tasks.length > 0 && selectionBar()}`,
)}
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, filter)}">Newest</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { ...filter, cursor: next_cursor })}">Older</a>`,
)}`,
  }
}

function filterForm(filter: Filter): Html {
  const field = (name: keyof Filter) =>
    html`<div><label for="f-${name}">${FILTER[name]}</label><input id="f-${name}" name="${name}" value="${filter[name] ?? ''}" autocomplete="off" spellcheck="false"></div>`
  return html`<form class="filter" method="get" action="/console/tasks" role="search" aria-label="Filter tasks">
<div><label for="f-status">Status</label><select id="f-status" name="status"><option value="">any</option>${STATUSES.map(
    (value) =>
      html`<option value="${value}"${filter.status === value && html` selected`}>${value.replaceAll('_', ' ')}</option>`,
  )}</select></div>
${field('type')}${field('created_by')}${field('session_id')}
<div class="filter-buttons"><button class="button">Filter</button>${isSet(filter) && html` <a class="link" href="/console/tasks">Clear</a>`}</div>
</form>`
}

/** The number of tasks by status, such as "4,990 queued · 3 running · 7 succeeded". */
function countsLine(counts: TaskCounts): string {
  const parts = STATUSES.filter((name) => counts[name] > 0).map(
    (name) => `${count(counts[name])} ${name.replaceAll('_', ' ')}`,
  )
  return `${counts.more ? 'At least ' : ''}${parts.join(' · ')}`
}

function none(filter: Filter): Html {
  return isSet(filter)
    ? empty('No task matches.', html`<a href="/console/tasks">Show all tasks</a>`)
    : empty('There are no tasks yet.', 'An agent creates one with create_task, over MCP or REST.')
}

function row(task: TaskView, now: number): Html {
  const isOver = TERMINAL_STATUSES.some((ended) => ended === task.status)
  return html`<li class="row">
<label class="pick"><input type="checkbox" name="task_id" value="${task.task_id}"${isOver && html` disabled`}><span class="quiet">Select ${line(task.type, 60)}</span></label>
<a class="row-main" href="${itemPath('tasks', task.task_id)}"><span class="row-title">${line(titleOf(task), 120)}</span>${task.summary === null ? html`<code class="row-peek">${line(peek(task), 160)}</code>` : html`<span class="row-sub">${line(task.summary, 140)}</span>`}</a>
<span class="row-who">${principal(task.created_by)}</span>
<span class="row-state">${status(task.status)}</span>
<span class="row-when">${time(task.updated_at, now)}</span>
</li>`
}

function selectionBar(): Html {
  return html`<div class="bar" data-selection>
<span class="bar-count" data-selected aria-live="polite"></span>
<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason (optional)" maxlength="500" autocomplete="off">
<button class="button danger" data-key="c">Cancel selected</button>
</div>`
}
