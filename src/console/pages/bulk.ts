import {
  abortBulkOperation,
  type BulkView,
  getBulkOperation,
  listBulkOperations,
  startBulkOperation,
} from '../../features/bulk-operations/operations.ts'
import { countTasks } from '../../features/tasks/task-search.ts'
import { type Content, type Html, html, nothing } from '../../util/html.ts'
import { count, empty, form, heading, hidden, line, principal, table, tableRow, time } from '../components.ts'
import { link, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { queryOfFields, statusesIn, TASKS, tasksWith } from './task-query.ts'

const POLL_SECONDS = 2

/** A short operation has ended before the page is shown again. */
const WAIT_SECONDS = 1

type Action = 'cancel' | 'retry'

function actionIn(fields: URLSearchParams): Action {
  return fields.get('action') === 'retry' ? 'retry' : 'cancel'
}

export const bulkRoutes = [
  page('/tasks/bulk', confirm),
  // For links that name fields instead of a query.
  page('/tasks/cancel-all', async ({ query }) =>
    redirect('/console/tasks/bulk', { action: 'cancel', q: queryOfFields(query) }),
  ),
  action('/tasks/bulk', async ({ call, form }) => {
    const q = textIn(form, 'q')
    const act = actionIn(form)
    const task_ids = form.getAll('task_id')
    const isAll = form.get('all') === 'yes'
    if (task_ids.length === 0 && !isAll) return redirect(TASKS, { q, notice: 'none' })
    const selection = isAll ? (q === undefined ? { all: true } : { query: q }) : { task_ids }
    const reason = act === 'cancel' ? textIn(form, 'reason') : undefined
    const { bulk_id } = await call(startBulkOperation, { action: act, ...selection, reason })
    await call(getBulkOperation, { bulk_id, wait_seconds: WAIT_SECONDS })
    return redirect(TASKS, { q, bulk: bulk_id })
  }),
  page('/tasks/bulk-operations', showOperations),
  action('/tasks/bulk-operations/abort', async ({ call, form }) => {
    const bulk_id = textIn(form, 'bulk_id')
    await call(abortBulkOperation, { bulk_id })
    return redirect(TASKS, { q: textIn(form, 'q'), bulk: bulk_id })
  }),
]

const VERBS = {
  cancel: {
    ...{ title: 'Cancel', done: 'Canceled', what: 'open', button: 'button danger solid' },
    statuses: ['queued', 'leased', 'running', 'pending_approval', 'input_required'],
    effect:
      'Queued tasks are canceled immediately; workers of running tasks are notified to stop. Tasks that are created from now on are not canceled.',
  },
  retry: {
    ...{ title: 'Retry', done: 'Retried', what: 'failed or canceled', button: 'button primary solid' },
    statuses: ['failed', 'canceled'],
    effect:
      'Each of them becomes a new task with the same input, and the rules are checked again. The original tasks do not change.',
  },
} as const

/** Shows how many tasks would change. */
async function confirm({ call, query, token }: Visit): Promise<Reply> {
  const q = textIn(query, 'q')
  const act = actionIn(query)
  const verb = VERBS[act]
  const counts = await call(countTasks, { query: q })
  const allowed = statusesIn(q ?? '')
  const sum = verb.statuses.reduce((total, each) => total + (allowed.includes(each) ? counts[each] : 0), 0)
  const number = `${counts.more ? 'at least ' : ''}${count(sum)} ${verb.what} ${sum === 1 && !counts.more ? 'task' : 'tasks'}`
  const isNone = sum === 0 && !counts.more
  return {
    title: `${verb.title} tasks`,
    section: 'tasks',
    body: html`<p class="crumbs"><a href="${tasksWith(q)}">Tasks</a></p>
${heading(isNone ? `There is nothing to ${act}` : `${verb.title} ${number}?`)}
<div class="card">
${q === undefined ? html`<p><strong>There is no search:</strong> this is every ${verb.what} task.</p>` : html`<p>The tasks that match <code>${line(q, 1000)}</code></p>`}
${
  isNone
    ? html`<p>No ${verb.what} task matches.</p><a class="button" href="${tasksWith(q)}">Back</a>`
    : form(
        token,
        '/console/tasks/bulk',
        html`${hidden({ q, action: act, all: 'yes' })}
<p>${verb.effect}</p>
<p>It runs in the background. The next page shows its progress, and you can abort it there.</p>
${act === 'cancel' && html`<label for="reason">Reason</label><input id="reason" name="reason" maxlength="500" autocomplete="off">`}
<div class="buttons"><button class="${verb.button}">${verb.title} ${number}</button><a class="button" href="${tasksWith(q)}">Back</a></div>`,
      )
}
</div>`,
  }
}

/** The bulk operation that the query names, with its progress. */
export async function bulkCard({
  call,
  query,
  token,
  may,
}: Visit): Promise<{ card: Content; isRunning: boolean }> {
  const bulk_id = textIn(query, 'bulk')
  if (bulk_id === undefined) return { card: nothing, isRunning: false }
  const bulk = await unless('BULK_OPERATION_NOT_FOUND', call(getBulkOperation, { bulk_id }), undefined)
  if (bulk === undefined) return { card: nothing, isRunning: false }
  const isRunning = bulk.state === 'running'
  return {
    isRunning,
    card: html`<section class="card bulk" data-live="bulk" role="status" aria-label="Bulk operation">
<div class="bulk-line"><strong>${headline(bulk)}</strong>${isRunning && progress(bulk)}
${
  isRunning &&
  may('cancel') &&
  form(
    token,
    '/console/tasks/bulk-operations/abort',
    html`${hidden({ q: textIn(query, 'q'), bulk_id })}<button class="button small">Abort</button>`,
    'inline',
  )
}${!isRunning && html`<a href="${tasksWith(textIn(query, 'q'))}">Dismiss</a>`}</div>
${remarks(bulk)}
</section>`,
  }
}

function progress({ done, skipped, failed, total, is_total_exact }: BulkView): Content {
  const part = done + skipped + failed
  return is_total_exact
    ? html`<progress max="${Math.max(total, 1)}" value="${part}" aria-label="Progress"></progress>`
    : html`<progress aria-label="Progress"></progress>`
}

function headline({ action: act, state, done, total, is_total_exact }: BulkView): string {
  const verb = VERBS[act].done
  const tasks = (n: number) => (n === 1 ? '1 task' : `${count(n)} tasks`)
  if (state === 'running')
    return `${verb} ${count(done)} of ${is_total_exact ? '' : 'at least '}${tasks(total)}`
  return `${state === 'aborted' ? 'Aborted. ' : ''}${verb} ${tasks(done)}.`
}

function remarks({ skipped, failed, last_error, state }: BulkView): Content {
  const parts = [
    skipped > 0 && `${count(skipped)} had changed in the meantime and were left as they are.`,
    failed > 0 && `${count(failed)} were refused.`,
  ].filter((part) => part !== false)
  if (parts.length === 0 && last_error === null) return undefined
  const label = state === 'running' && failed === 0 ? 'Paused: ' : 'Last error: '
  return html`<p class="soft">${parts.join(' ')}${last_error !== null && html` ${label}${line(last_error, 300)}`}</p>`
}

const COLUMNS = [
  { label: 'Operation', kind: 'wide' },
  { label: 'State', kind: 'tight' },
  { label: 'Done', kind: 'number' },
  { label: 'Requested', kind: 'tight' },
  { label: 'By', kind: 'tight', isExtra: true },
] as const

async function showOperations({ call, now }: Visit): Promise<Reply> {
  const { bulk_operations } = await call(listBulkOperations, {})
  return {
    title: 'Bulk operations',
    section: 'tasks',
    poll: POLL_SECONDS,
    body: html`<p class="crumbs"><a href="/console/tasks">Tasks</a></p>
${heading('Bulk operations')}
<p class="soft">Canceled and retried tasks of the last 7 days. An operation continues if you close the page, and after a restart of the server.</p>
<div data-live="list">${
      bulk_operations.length === 0
        ? empty(
            'There are no bulk operations.',
            html`Select tasks on the page <a href="/console/tasks">Tasks</a>, or all that match a search.`,
          )
        : table(
            'Bulk operations',
            COLUMNS,
            bulk_operations.map((bulk) => row(bulk, now)),
          )
    }</div>`,
  }
}

function row(bulk: BulkView, now: number): Html {
  const href = link(TASKS, { q: bulk.query ?? undefined, bulk: bulk.bulk_id })
  const total = `${bulk.is_total_exact ? '' : '≥ '}${count(bulk.total)}`
  return tableRow(bulk.bulk_id, COLUMNS, [
    html`<div class="clip"><a href="${href}">${VERBS[bulk.action].title}</a> <code class="soft">${line(bulk.query ?? 'selected or all tasks', 160)}</code></div>`,
    html`<span class="status bulk-${bulk.state}">${bulk.state}</span>`,
    html`${count(bulk.done)} <span class="soft">of ${total}</span>`,
    time(bulk.requested_at, now),
    principal(bulk.requested_by),
  ])
}
