import { hash } from 'node:crypto'
import { isTerminal } from '../../core/transitions.ts'
import { jsonText } from '../../engine/stored-json.ts'
import type { ReceiptView } from '../../features/receipts/get-receipt.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Attempt, statusOf } from '../attempt.ts'
import { link, place } from '../fields.ts'
import { type Content, type Html, html, nothing } from '../html.ts'
import { notice } from '../notices.ts'
import { facts, form, heading, identifier, jsonBlock, principal, status, textBlock } from '../parts.ts'
import type { Page } from '../reply.ts'
import { exact, time } from '../time.ts'
import { line } from '../untrusted.ts'
import { openQuestion } from './question.ts'
import { cancellationSteps, lifeSteps } from './steps.ts'
import { titleOf } from './tasks.ts'

interface TaskPageView {
  readonly task: TaskView
  /** Newest first. */
  readonly receipts: readonly ReceiptView[]
  /** Where the older ones begin; null if there are none. */
  readonly olderReceipts: string | null
  /** Oldest first. */
  readonly progress: readonly Readonly<Record<string, unknown>>[]
  readonly query: URLSearchParams
  readonly token: string
  readonly now: number
  /** An answer to its question that was not taken. */
  readonly attempt?: Attempt
}

/** Looked at again while a worker has not yet said that it has stopped: nothing tells of that. */
const STOPPING_SECONDS = 2

export function taskPage(view: TaskPageView): Page {
  const { task, now, token, query } = view
  const isStopping = task.cancellation !== undefined && task.cancellation.stopped_at === null
  return {
    kind: 'page',
    title: titleOf(task),
    place: 'tasks',
    status: statusOf(view.attempt),
    follows: { task_id: task.task_id },
    ...(isStopping && { poll: STOPPING_SECONDS }),
    body: html`<p class="crumbs"><a href="/console/tasks">Tasks</a></p>
<div data-live="task">
${heading(line(titleOf(task), 160), status(task.status))}
${task.summary !== null && html`<p class="lead">${line(task.summary, 500)}</p>`}
${notice(query)}
${lifeSteps(task)}
${task.cancellation && cancellationSteps(task.cancellation, now)}
${openQuestion(task, token, now, view.attempt)}
${progressOf(task)}
${outcomeOf(task)}
</div>
${actions(task, token)}
<div class="columns">
<section data-live="facts" aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2>${factsOf(task, now)}</section>
${payloadOf(task, query.get('have'))}
</div>
${progressLog(view)}
${receiptsOf(view)}`,
  }
}

/** An open page says which payload it has, and is not sent the same one again with every change. */
function payloadOf({ payload, body, inputs }: TaskView, had: string | null): Content {
  const version = hash('sha256', jsonText([payload, body, inputs])).slice(0, 16)
  if (version === had) return nothing
  return html`<section data-live="payload" data-version="${version}" aria-labelledby="h-payload"><h2 id="h-payload">Payload</h2>${jsonBlock(payload, 'Payload')}
${body !== null && html`<h3>Body</h3>${textBlock(body, 'Body')}`}
${Object.keys(asObject(inputs)).length > 0 && html`<h3>Inputs</h3>${jsonBlock(inputs, 'Inputs')}`}
</section>`
}

function actions({ task_id, status: state }: TaskView, token: string): Html {
  if (!isTerminal(state)) {
    return html`<div data-live="actions" class="actions">${form(
      token,
      `${place('tasks', task_id)}/cancel`,
      html`<label class="quiet" for="reason">Reason</label><input id="reason" name="reason" placeholder="Reason (optional)" maxlength="500" autocomplete="off"><button class="button danger" data-key="c">Cancel task</button>`,
      'inline',
    )}</div>`
  }
  if (state === 'succeeded') return html`<div data-live="actions"></div>`
  return html`<div data-live="actions" class="actions">${form(
    token,
    `${place('tasks', task_id)}/retry`,
    html`<button class="button">Do it again as a new task</button>`,
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

/** What a worker or an upstream wrote is text here, whatever it looks like. */
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
      value: html`<a href="${place('tasks', task.parent_task_id)}">${identifier(task.parent_task_id)}</a>`,
    },
    policy !== null && { name: 'Rule', value: jsonBlock(policy, 'What a rule said') },
  ])
}

function progressLog({ progress, now }: TaskPageView): Html {
  if (progress.length === 0) return html`<div data-live="progress"></div>`
  return html`<section data-live="progress" aria-labelledby="h-progress"><h2 id="h-progress">Progress reports</h2>
<ol class="log">${progress
    .slice(-50)
    .map(
      (entry) =>
        html`<li><span class="when">${typeof entry.updated_at === 'string' && time(entry.updated_at, now)}</span><span>${line(wordsOf(entry), 300)}</span></li>`,
    )}</ol></section>`
}

function wordsOf({ updated_at: _, percent, message, ...rest }: Readonly<Record<string, unknown>>): string {
  const words = [
    typeof percent === 'number' && `${percent} %`,
    typeof message === 'string' && message,
    Object.keys(rest).length > 0 && JSON.stringify(rest),
  ].filter((part) => part !== false)
  return words.join(' · ')
}

function receiptsOf({ task, receipts, olderReceipts, query, now }: TaskPageView): Html {
  const here = place('tasks', task.task_id)
  return html`<section data-live="receipts" aria-labelledby="h-receipts"><h2 id="h-receipts">Receipts, newest first</h2>
${query.get('receipts') !== null && html`<p><a href="${here}">Newest receipts</a></p>`}
<ol class="log">${receipts.map(
    (receipt) =>
      html`<li><span class="when" title="${exact(receipt.created_at)}">${time(receipt.created_at, now)}</span><span class="mono">${receipt.receipt_type}</span><span>${principal(receipt.from)} <span class="soft">to</span> ${principal(receipt.to)}</span><details><summary>Body</summary>${jsonBlock(receipt.body, `Body of receipt ${receipt.seq}`)}</details></li>`,
  )}</ol>
${olderReceipts !== null && html`<p><a href="${link(here, { receipts: olderReceipts })}">Older receipts</a></p>`}</section>`
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}
