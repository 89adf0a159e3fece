import { Fault } from '../../core/errors.ts'
import { isTerminal, type Status } from '../../core/transitions.ts'
import { jsonText } from '../../engine/stored-json.ts'
import { getReceipt } from '../../features/receipts/get-receipt.ts'
import { listReceipts } from '../../features/receipts/list-receipts.ts'
import { listLogs } from '../../features/tasks/list-logs.ts'
import { getTask, getTaskProgress } from '../../features/tasks/read-task.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { listTasks } from '../../features/tasks/task-search.ts'
import { type Content, type Html, html, nothing } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  faultBox,
  form,
  heading,
  jsonBlock,
  line,
  notice,
  status,
  statusOf,
  textBlock,
} from '../components.ts'
import { itemPath, textIn } from '../fields.ts'
import { type FileReply, page, type Reply, unless, type Visit } from '../visit.ts'
import { ATTEMPT_TYPES, attemptsIn, attemptTable } from './attempts.ts'
import { cancellationSteps } from './cancellation.ts'
import { openQuestion } from './question.ts'
import { stateDiagram } from './state-diagram.ts'
import { errorDetail } from './task-error.ts'
import { type Relatives, taskFacts } from './task-facts.ts'
import { logSection, progressSection, receiptSection } from './task-records.ts'
import { titleOf } from './task-title.ts'
import { imagesIn, valueViewer } from './value-viewer.ts'

/** Update interval until the worker reports that it has stopped, which no event announces. */
const STOPPING_SECONDS = 2

/** Receipts and progress reports on the page of a task. */
const ON_PAGE = 20

/** Log lines on the page of a task. */
const LOG_LINES = 100

export const taskRawRoutes = [
  page('/tasks/{task_id}/payload', async (visit) => fileOf(visit, 'payload', (await taskOf(visit)).payload)),
  page('/tasks/{task_id}/result', async (visit) => fileOf(visit, 'result', resultOf(await taskOf(visit)))),
]

function taskOf({ call, params: { task_id } }: Visit): Promise<TaskView> {
  return call(getTask, { task_id })
}

function resultOf({ result }: TaskView): TaskView['payload'] {
  if (result === undefined) throw new Fault('NOT_FOUND')
  return result.error ?? result.result
}

/** A value as it is stored, or one of its images. A string is its text, everything else is JSON. */
function fileOf({ params, query }: Visit, name: string, value: TaskView['payload']): FileReply {
  const image = query.get('image')
  if (image !== null) return imageOf(value, Number(image))
  const isText = typeof value === 'string'
  const saveAs = `${name}-${(params.task_id ?? '').slice(0, 8)}.${isText ? 'txt' : 'json'}`
  const isSaved = query.get('download') !== null
  return {
    file: {
      type: isSaved && !isText ? 'application/json' : 'text/plain; charset=utf-8',
      content: isText ? value : jsonText(value),
      ...(isSaved && { saveAs: saveAs.replace(/[^\w.-]/g, '') }),
    },
  }
}

function imageOf(value: unknown, n: number): FileReply {
  const image = imagesIn(value)[n]
  if (image === undefined) throw new Fault('NOT_FOUND')
  return { file: { type: image.type, content: image.bytes } }
}

export async function showTask(visit: Visit): Promise<Reply> {
  const { call, params, query, now, fault, may } = visit
  const { task_id } = params
  const logsFrom = textIn(query, 'logs')
  const [task, receipts, steps, reports, logs] = await Promise.all([
    call(getTask, { task_id }),
    call(listReceipts, {
      ...{ task_id, order: 'newest', limit: ON_PAGE },
      since_receipt_id: textIn(query, 'receipts'),
    }),
    call(listReceipts, { task_id, receipt_types: ATTEMPT_TYPES, limit: 200 }),
    call(getTaskProgress, { task_id, order: 'newest', limit: ON_PAGE, cursor: textIn(query, 'progress') }),
    call(listLogs, { task_id, limit: LOG_LINES, cursor: logsFrom }),
  ])
  const relatives = await relativesOf(visit, task)
  const attempts = attemptsIn(steps.receipts)
  const isStopping = task.cancellation !== undefined && task.cancellation.stopped_at === null
  const passed = new Set<Status>(['queued'])
  if (attempts.length > 0) passed.add('leased')
  if (task.started_at !== null) passed.add('running')
  return {
    title: titleOf(task),
    section: 'tasks',
    status: statusOf(fault),
    follows: { task_id: task.task_id },
    ...(isStopping && { poll: STOPPING_SECONDS }),
    body: html`<p class="crumbs"><a href="/console/tasks">Tasks</a></p>
<div data-live="task">
${heading(line(titleOf(task), 160), status(task.status))}
${task.summary !== null && html`<p class="lead">${line(task.summary, 500)}</p>`}
${notice(query)}
${faultBox(task.question === null ? fault : undefined)}
${task.cancellation && cancellationSteps(task.cancellation, now)}
${openQuestion(task, visit)}
${progressOf(task)}
</div>
${may('cancel') ? actions(task, visit) : nothing}
${outcomeOf(task)}
<section data-live="attempts" aria-labelledby="h-attempts"><h2 id="h-attempts">State and attempts</h2>
${stateDiagram(task.status, passed)}
${attempts.length > 0 && attemptTable(attempts, task.lease?.expires_at, now)}
${attempts.length === 0 && html`<p class="soft">${task.hint === undefined ? 'No worker has claimed the task.' : line(task.hint, 500)}</p>`}
${steps.next_cursor !== null && html`<p class="soft">Later attempts are in the receipts.</p>`}</section>
<div class="columns">
<section data-live="facts" aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2>${taskFacts(task, relatives, now)}</section>
${payloadOf(task)}
</div>
${progressSection(task, reports, query, now)}
${logSection(task, logs, logsFrom, now)}
${receiptSection(task, receipts, query, now)}`,
  }
}

const MAX_RELATIVES = 20

/** The tasks that this one led to, and the one that it repeats. */
async function relativesOf({ call, may }: Visit, task: TaskView): Promise<Relatives> {
  const receipt = (receipt_id: string | null) =>
    receipt_id === null || !may('receipts')
      ? undefined
      : unless('RECEIPT_NOT_FOUND', call(getReceipt, { receipt_id }), undefined)
  const [children, cause, end] = await Promise.all([
    call(listTasks, { query: `parent:${task.task_id}`, limit: MAX_RELATIVES }),
    receipt(task.caused_by_receipt_id),
    isTerminal(task.status) ? lastReceipt(call, task) : undefined,
  ])
  const follower = end === undefined ? undefined : await receipt(end)
  return {
    children: children.tasks,
    repeats: cause?.task_id ?? null,
    repeated_as: (follower?.children ?? []).flatMap(({ task_id, receipt_type }) =>
      receipt_type === 'task.assigned' && task_id !== null ? [task_id] : [],
    ),
  }
}

async function lastReceipt(call: Visit['call'], { task_id }: TaskView): Promise<string | null> {
  const receipt_types = ['task.completed', 'task.failed', 'task.canceled']
  const { receipts } = await call(listReceipts, { task_id, receipt_types, order: 'newest', limit: 1 })
  return receipts[0]?.receipt_id ?? null
}

function payloadOf({ task_id, payload, body, inputs }: TaskView): Html {
  const path = `${itemPath('tasks', task_id)}/payload`
  return html`<section data-live="payload" aria-labelledby="h-payload"><h2 id="h-payload">Payload</h2>${valueViewer('v-payload', 'Payload', payload, path)}
${body !== null && html`<h3>Body</h3>${textBlock(body, 'Body')}`}
${isFilled(inputs) && html`<h3>Inputs</h3>${jsonBlock(inputs, 'Inputs')}`}
</section>`
}

function isFilled(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function actions(task: TaskView, { token, form: sent, fault }: Visit): Html {
  const { task_id, status: state } = task
  if (state === 'succeeded') return html`<div data-live="actions"></div>`
  const path = itemPath('tasks', task_id)
  if (isTerminal(state)) {
    const payload = visibleJson(task.payload)
    return html`<div data-live="actions" class="actions">${form(token, `${path}/retry`, html`<button class="button primary" data-key="r">Retry</button>`, 'inline')}
<details${fault !== undefined && html` open`}><summary>Edit and retry</summary>${form(
      token,
      `${path}/retry`,
      html`<label for="payload">Payload of the new task, as JSON</label><textarea id="payload" name="payload" rows="${Math.min(24, payload.split('\n').length + 1)}" spellcheck="false" required>${sent.get('payload') ?? payload}</textarea>
<p class="hint">The new task has the same type, owner and other input. The rules are checked again.</p><button class="button primary">Retry with this payload</button>`,
    )}</details></div>`
  }
  return html`<div data-live="actions" class="actions">${form(
    token,
    `${path}/cancel`,
    html`<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason (optional)" maxlength="500" autocomplete="off"><button class="button danger" data-key="c">Cancel task</button>`,
    'inline',
  )}</div>`
}

function progressOf({ progress, status: state }: TaskView): Content {
  if (progress === undefined || isTerminal(state)) return nothing
  const { percent, message } = progress
  const isPercent = typeof percent === 'number' && percent >= 0 && percent <= 100
  return html`<section class="card" aria-label="Progress">
${isPercent && html`<progress max="100" value="${percent}" aria-label="Progress"></progress><span class="percent">${Math.round(percent)} %</span>`}
${typeof message === 'string' && html`<p>${line(message, 500)}</p>`}
${!isPercent && typeof message !== 'string' && jsonBlock(progress, 'Latest progress')}
</section>`
}

function outcomeOf({ task_id, result }: TaskView): Html {
  if (result === undefined) return html`<div data-live="outcome"></div>`
  const path = `${itemPath('tasks', task_id)}/result`
  return html`<section data-live="outcome" aria-labelledby="h-result"><h2 id="h-result">${result.error === null ? 'Result' : result.outcome === 'canceled' ? 'Canceled' : 'Error'}</h2>
${result.error === null ? valueViewer('v-result', 'Result', result.result, path) : errorDetail(result.error)}
${result.artifacts !== null && html`<h3>Artifacts</h3>${jsonBlock(result.artifacts, 'Artifacts')}`}
${result.how_to_retrieve && html`<p class="soft">The result is stored outside of the task. Download it from <code>${line(result.how_to_retrieve.download, 300)}</code> with your key.</p>`}
</section>`
}
