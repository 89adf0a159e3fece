import { z } from 'zod'
import { STATUSES, TERMINAL_STATUSES } from '../../core/transitions.ts'
import { jsonText } from '../../engine/stored-json.ts'
import { TOOL_CALL } from '../../features/sessions/tool-calls.ts'
import type { TaskCounts, TaskView } from '../../features/tasks/shape.ts'
import { link, place } from '../fields.ts'
import { type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { empty, form, heading, principal, status } from '../parts.ts'
import type { Page } from '../reply.ts'
import type { TaskFilter } from '../task-filter.ts'
import { time } from '../time.ts'
import { count, line } from '../untrusted.ts'

interface TasksView {
  readonly tasks: readonly TaskView[]
  readonly next_cursor: string | null
  /** Of the tasks that fit the filter, whatever status it names. */
  readonly counts: TaskCounts
  readonly filter: TaskFilter
  readonly cursor: string | undefined
  readonly query: URLSearchParams
  readonly token: string
  readonly now: number
}

export function tasksPage(view: TasksView): Page {
  const { tasks, filter, cursor, next_cursor, query } = view
  return {
    kind: 'page',
    title: 'Tasks',
    place: 'tasks',
    // Later pages stay as they are: their content would move.
    ...(cursor === undefined && { follows: 'tasks' }),
    body: html`${heading('Tasks', html`<a class="button danger" href="${link('/console/tasks/cancel-all', { ...filter })}">Cancel all that match…</a>`)}
${notice(query)}
${filterForm(filter)}
<p class="soft" data-live="counts">${tellCounts(view.counts)}</p>
${form(
  view.token,
  '/console/tasks/cancel',
  html`${Object.entries(filter).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
<div data-live="list">${tasks.length === 0 ? none(filter) : html`<ul class="rows tasks">${tasks.map((task) => row(task, view.now))}</ul>`}</div>
${tasks.length > 0 && selectionBar()}`,
)}
<nav class="pager" aria-label="Pages" data-live="pager">
${cursor !== undefined && html`<a class="button" href="${link('/console/tasks', { ...filter })}">Newest</a>`}
${next_cursor !== null && html`<a class="button" href="${link('/console/tasks', { ...filter, cursor: next_cursor })}">Older</a>`}
</nav>`,
  }
}

function filterForm(filter: TaskFilter): Html {
  const field = (name: keyof TaskFilter, label: string) =>
    html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" value="${filter[name] ?? ''}" autocomplete="off" spellcheck="false"></div>`
  const isSet = Object.values(filter).some((value) => value !== undefined)
  return html`<form class="filter" method="get" action="/console/tasks" role="search" aria-label="Filter of tasks">
<div><label for="f-status">Status</label><select id="f-status" name="status"><option value="">any</option>${STATUSES.map(
    (value) =>
      html`<option value="${value}"${filter.status === value && html` selected`}>${value.replaceAll('_', ' ')}</option>`,
  )}</select></div>
${field('type', 'Type')}${field('created_by', 'Owner')}${field('session_id', 'Session')}
<div class="filter-buttons"><button class="button">Filter</button>${isSet && html` <a class="link" href="/console/tasks">Clear</a>`}</div>
</form>`
}

/** The statuses that tasks have, such as "4,990 queued · 3 running · 7 succeeded". */
function tellCounts(counts: TaskCounts): string {
  const parts = STATUSES.filter((name) => counts[name] > 0).map(
    (name) => `${count(counts[name])} ${name.replaceAll('_', ' ')}`,
  )
  return `${counts.more ? 'At least ' : ''}${parts.join(' · ')}`
}

function none(filter: TaskFilter): Html {
  return Object.values(filter).some((value) => value !== undefined)
    ? empty('No task matches.', html`<a href="/console/tasks">Show all tasks</a>`)
    : empty('There are no tasks yet.', 'An agent creates one with create_task, over MCP or REST.')
}

function row(task: TaskView, now: number): Html {
  const isOver = TERMINAL_STATUSES.some((ended) => ended === task.status)
  return html`<li class="row">
<label class="pick"><input type="checkbox" name="task_id" value="${task.task_id}"${isOver && html` disabled`}><span class="quiet">Select ${line(task.type, 60)}</span></label>
<a class="row-main" href="${place('tasks', task.task_id)}"><span class="row-title">${line(titleOf(task), 120)}</span>${task.summary === null ? html`<code class="row-peek">${line(peek(task), 160)}</code>` : html`<span class="row-sub">${line(task.summary, 140)}</span>`}</a>
<span class="row-who">${principal(task.created_by)}</span>
<span class="row-state">${status(task.status)}</span>
<span class="row-when">${time(task.updated_at, now)}</span>
</li>`
}

type Work = Pick<TaskView, 'type' | 'payload'>

/** A call of an upstream's tool is named after the tool. */
export function titleOf({ type, payload }: Work): string {
  const call = callIn({ type, payload })
  return call === undefined ? type : `${call.upstream} › ${call.tool}`
}

/** Enough of a payload to tell one task from the other; the page of each has all of it. */
export function peek({ type, payload }: Work): string {
  const call = callIn({ type, payload })
  return call?.arguments === undefined
    ? jsonText(payload).slice(0, 400)
    : JSON.stringify(call.arguments).slice(0, 400)
}

const callShape = z.object({ upstream: z.string(), tool: z.string(), arguments: z.unknown().optional() })

function callIn({ type, payload }: Work): z.output<typeof callShape> | undefined {
  return type === TOOL_CALL ? callShape.safeParse(payload).data : undefined
}

function selectionBar(): Html {
  return html`<div class="bar" data-selection>
<span class="bar-count" data-selected aria-live="polite"></span>
<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason (optional)" maxlength="500" autocomplete="off">
<button class="button danger" data-key="c">Cancel selected</button>
</div>`
}
