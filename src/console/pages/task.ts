import { hash } from 'node:crypto'
import type { z } from 'zod'
import { isParked, isTerminal, type Status } from '../../core/transitions.ts'
import { jsonText } from '../../engine/stored-json.ts'
import type { listReceipts } from '../../features/receipts/list-receipts.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html, nothing } from '../../util/html.ts'
import {
  exact,
  facts,
  form,
  heading,
  identifier,
  jsonBlock,
  line,
  notice,
  principal,
  status,
  statusOf,
  textBlock,
  time,
} from '../components.ts'
import { itemPath, link } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'
import { openQuestion } from './question.ts'
import { titleOf } from './task-title.ts'

/** Update interval until the worker reports that it has stopped, which no event announces. */
const STOPPING_SECONDS = 2

type Receipts = Pick<z.output<typeof listReceipts.output>, 'receipts' | 'next_cursor'>
type Progress = Readonly<Record<string, unknown>>

/** The receipts are ordered newest first, the progress reports oldest first. */
export function taskPage(
  task: TaskView,
  receipts: Receipts,
  progress: readonly Progress[],
  visit: Visit,
): Page {
  const { now, token, query, fault } = visit
  const isStopping = task.cancellation !== undefined && task.cancellation.stopped_at === null
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
${statusSteps(task)}
${task.cancellation && cancellationSteps(task.cancellation, now)}
${openQuestion(task, visit)}
${progressOf(task)}
${outcomeOf(task)}
</div>
${actions(task, token)}
<div class="columns">
<section data-live="facts" aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2>${factsOf(task, now)}</section>
${payloadOf(task, query.get('have'))}
</div>
${progressLog(progress, now)}
${receiptsOf(task, receipts, visit)}`,
  }
}

/** The payload. An open page names the version that it has, which updates then omit. */
function payloadOf({ payload, body, inputs }: TaskView, known: string | null): Content {
  const version = hash('sha256', jsonText([payload, body, inputs])).slice(0, 16)
  if (version === known) return nothing
  return html`<section data-live="payload" data-version="${version}" aria-labelledby="h-payload"><h2 id="h-payload">Payload</h2>${jsonBlock(payload, 'Payload')}
${body !== null && html`<h3>Body</h3>${textBlock(body, 'Body')}`}
${Object.keys(asObject(inputs)).length > 0 && html`<h3>Inputs</h3>${jsonBlock(inputs, 'Inputs')}`}
</section>`
}

function actions({ task_id, status: state }: TaskView, token: string): Html {
  if (state === 'succeeded') return html`<div data-live="actions"></div>`
  const path = itemPath('tasks', task_id)
  return html`<div data-live="actions" class="actions">${
    isTerminal(state)
      ? form(token, `${path}/retry`, html`<button class="button">Retry as a new task</button>`, 'inline')
      : form(
          token,
          `${path}/cancel`,
          html`<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason (optional)" maxlength="500" autocomplete="off"><button class="button danger" data-key="c">Cancel task</button>`,
          'inline',
        )
  }</div>`
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

function outcomeOf({ result }: TaskView): Content {
  if (result === undefined) return nothing
  return html`<section aria-labelledby="h-result"><h2 id="h-result">${result.error === null ? 'Result' : 'Error'}</h2>
${result.error === null ? shown(result.result) : jsonBlock(result.error, 'Error')}
${result.artifacts !== null && html`<h3>Artifacts</h3>${jsonBlock(result.artifacts, 'Artifacts')}`}
</section>`
}

function shown(result: unknown): Html {
  return typeof result === 'string' ? textBlock(result, 'Result') : jsonBlock(result, 'Result')
}

function factsOf(task: TaskView, now: number): Html {
  const { session_id, lease, policy, labels } = task
  return facts([
    { name: 'Task', value: identifier(task.task_id) },
    { name: 'Type', value: line(task.type) },
    { name: 'Owner', value: principal(task.created_by) },
    task.principal_ai !== task.created_by.id && { name: 'On behalf of', value: line(task.principal_ai) },
    session_id !== null && {
      name: 'Session',
      value: html`<a href="${link('/console/tasks', { session_id })}">${line(session_id, 80)}</a>`,
    },
    { name: 'Created', value: time(task.created_at, now) },
    { name: 'Updated', value: time(task.updated_at, now) },
    task.next_eligible_at !== null && { name: 'Not before', value: time(task.next_eligible_at, now) },
    lease && {
      name: 'Worker',
      value: html`${line(lease.worker_id, 80)} <span class="soft">lease ends ${time(lease.expires_at, now)}</span>`,
    },
    { name: 'Attempt', value: `${task.attempt + 1} of ${task.max_attempts}` },
    task.expiry_count > 0 && { name: 'Expiries', value: `${task.expiry_count} of ${task.max_expiries}` },
    { name: 'Priority', value: task.priority },
    task.dead_letter === true && { name: 'Dead letter', value: 'yes: retries or expiries ran out' },
    Object.keys(labels).length > 0 && {
      name: 'Labels',
      value: Object.entries(labels).map(
        ([k, v]) => html`<span class="chip">${line(k, 64)}=${line(v, 64)}</span> `,
      ),
    },
    task.parent_task_id !== null && {
      name: 'Parent',
      value: html`<a href="${itemPath('tasks', task.parent_task_id)}">${identifier(task.parent_task_id)}</a>`,
    },
    policy !== null && { name: 'Rule', value: jsonBlock(policy, 'Policy decision') },
  ])
}

function progressLog(progress: readonly Progress[], now: number): Html {
  if (progress.length === 0) return html`<div data-live="progress"></div>`
  return html`<section data-live="progress" aria-labelledby="h-progress"><h2 id="h-progress">Progress reports</h2>
<ol class="log">${progress.map(
    (entry) =>
      html`<li><span class="when">${typeof entry.updated_at === 'string' && time(entry.updated_at, now)}</span><span>${line(wordsOf(entry), 300)}</span></li>`,
  )}</ol></section>`
}

function wordsOf({ updated_at: _, percent, message, ...rest }: Progress): string {
  const words = [
    typeof percent === 'number' && `${percent} %`,
    typeof message === 'string' && message,
    Object.keys(rest).length > 0 && JSON.stringify(rest),
  ].filter((part) => part !== false)
  return words.join(' · ')
}

function receiptsOf({ task_id }: TaskView, { receipts, next_cursor }: Receipts, { query, now }: Visit): Html {
  const here = itemPath('tasks', task_id)
  return html`<section data-live="receipts" aria-labelledby="h-receipts"><h2 id="h-receipts">Receipts, newest first</h2>
${query.get('receipts') !== null && html`<p><a href="${here}">Newest receipts</a></p>`}
<ol class="log">${receipts.map(
    (receipt) =>
      html`<li><span class="when" title="${exact(receipt.created_at)}">${time(receipt.created_at, now)}</span><span class="mono">${receipt.receipt_type}</span><span>${principal(receipt.from)} <span class="soft">to</span> ${principal(receipt.to)}</span><details><summary>Body</summary>${jsonBlock(receipt.body, `Body of receipt ${receipt.seq}`)}</details></li>`,
  )}</ol>
${next_cursor !== null && html`<p><a href="${link(here, { receipts: next_cursor })}">Older receipts</a></p>`}</section>`
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

interface Step {
  readonly label: string
  readonly state: 'done' | 'now' | 'next'
  readonly detail?: Content
}

function steps(label: string, list: readonly Step[]): Html {
  return html`<ol class="steps" aria-label="${label}">${list.map(
    ({ label: name, state, detail }) =>
      html`<li class="step-${state}"${state === 'now' && html` aria-current="step"`}><span class="step-name">${name}</span>${detail && html`<span class="step-detail">${detail}</span>`}</li>`,
  )}</ol>`
}

const STATES: readonly Status[] = ['queued', 'leased', 'running']

/** The states of a task, with the current one highlighted. */
function statusSteps({ status, started_at }: Pick<TaskView, 'status' | 'started_at'>): Html {
  const states: Status[] = isParked(status) ? [status, ...STATES] : [...STATES]
  states.push(isTerminal(status) ? status : 'succeeded')
  const at = states.indexOf(status)
  /** A task can end without having had all of them. */
  const isPassed = (name: Status) =>
    !isTerminal(status) ||
    name === 'queued' ||
    started_at !== null ||
    (name === 'leased' && status !== 'canceled')
  return steps(
    'States of the task',
    states.map((name, i) => ({
      label: isTerminal(name) && name !== status ? 'ended' : name.replaceAll('_', ' '),
      state: i === at ? 'now' : i < at && isPassed(name) ? 'done' : 'next',
    })),
  )
}

/** The progress of a cancellation. */
function cancellationSteps(
  { requested_at, requested_by, reason, acknowledged_at, stopped_at }: NonNullable<TaskView['cancellation']>,
  now: number,
): Html {
  const stateOf = (at: string | null, before: boolean) => (at !== null ? 'done' : before ? 'now' : 'next')
  return html`<section aria-label="Cancellation">${steps('Cancellation', [
    {
      label: 'requested',
      state: 'done',
      detail: html`${time(requested_at, now)} by ${principal(requested_by)}${reason !== null && html`: ${line(reason)}`}`,
    },
    {
      label: 'acknowledged',
      state: stateOf(acknowledged_at, true),
      detail:
        acknowledged_at === null ? 'the worker has not acknowledged it yet' : time(acknowledged_at, now),
    },
    {
      label: 'stopped',
      state: stateOf(stopped_at, acknowledged_at !== null),
      detail: stopped_at === null ? 'the worker has not stopped yet' : time(stopped_at, now),
    },
  ])}</section>`
}
