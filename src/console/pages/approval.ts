import { z } from 'zod'
import { ELSEWHERE } from '../../core/question.ts'
import type { ApprovalView } from '../../features/questions/approvals.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import { type Attempt, complaintOf, statusOf } from '../attempt.ts'
import { link, place } from '../fields.ts'
import { type Content, type Html, html, nothing } from '../html.ts'
import { notice, noticeBox } from '../notices.ts'
import { type Fact, facts, form, heading, identifier, jsonBlock, principal, textBlock } from '../parts.ts'
import { markOf } from '../payload-mark.ts'
import type { Page } from '../reply.ts'
import { exact, time } from '../time.ts'
import { block, line } from '../untrusted.ts'
import { requestOf } from './question.ts'
import { titleOf } from './tasks.ts'

export interface ApprovalPageView {
  readonly approval: ApprovalView
  readonly query: URLSearchParams
  readonly token: string
  readonly now: number
  /** A decision that was not taken. */
  readonly attempt?: Attempt
}

export function approvalPage(view: ApprovalPageView): Page {
  const { approval, now, attempt } = view
  const { task, task_id, state } = approval
  const { title, reason, rule_id, show } = requestOf(approval.request)
  const isOpen = state === 'open'
  return {
    kind: 'page',
    title: titleOf(task),
    place: 'approvals',
    status: statusOf(attempt),
    follows: { task_id },
    body: html`<p class="crumbs"><a href="/console/approvals">Approvals</a></p>
${heading(line(titleOf(task), 160), html`<span data-live="state"><span class="status approval-${state}">${state}</span></span>`)}
${task.summary !== null && html`<p class="lead">${line(task.summary, 2000)}</p>`}
${title !== undefined && html`<p class="${task.summary === null ? 'lead' : 'soft'}">${line(title, 500)}</p>`}
${noticeFor(view)}
${attempt && complaintOf(attempt)}
<div data-live="decision">${isOpen ? nothing : decision(approval, now)}</div>
<div class="columns">
<section aria-labelledby="h-ask"><h2 id="h-ask">Who asks</h2>
${facts([
  { name: 'Owner', value: principal(task.owner) },
  task.principal_ai !== task.owner.id && { name: 'On behalf of', value: line(task.principal_ai, 255) },
  approval.origin === 'worker' && { name: 'Asked by', value: principal(approval.asked_by) },
  {
    name: 'Waiting since',
    value: html`${time(approval.asked_at, now)} <span class="exact">${exact(approval.asked_at)}</span>`,
  },
  {
    name: 'Expires',
    value:
      approval.expires_at === null
        ? 'never'
        : html`${time(approval.expires_at, now)} <span class="exact">${exact(approval.expires_at)}</span>`,
  },
  rule_id !== undefined && { name: 'Rule', value: html`<code>${line(rule_id)}</code>` },
  reason !== undefined && { name: 'Reason', value: line(reason, 2000) },
  task.session_id !== null && {
    name: 'Session',
    value: html`<a href="${link('/console/tasks', { session_id: task.session_id })}">${line(task.session_id, 60)}</a>`,
  },
  { name: 'Task', value: html`<a href="${place('tasks', task_id)}">${identifier(task_id)}</a>` },
  ...conditionsOf(task, now),
  { name: 'Content hash', value: identifier(approval.content_hash) },
])}
${show !== undefined && html`<h3>What the worker shows</h3>${typeof show === 'string' ? textBlock(show, 'What the worker shows') : jsonBlock(show, 'What the worker shows')}`}
</section>
<section aria-labelledby="h-payload"><h2 id="h-payload">${state === 'approved' ? 'Payload, as it was approved' : 'Payload'}</h2>
<div class="whole">${jsonBlock(task.payload, 'Payload')}${besides(task)}</div></section>
</div>
<div class="decide" data-live="decide">${isOpen ? decide(view) : nothing}</div>`,
  }
}

/** Whoever comes second is told who was first, what that was, and when. */
function noticeFor({ approval, query, now }: ApprovalPageView): Html {
  const { state, decided_by, decided_at } = approval
  if (query.get('notice') !== 'decided' || decided_by === null || decided_at === null) return notice(query)
  const by = state === 'expired' ? '' : html` by ${principal(decided_by)}`
  return noticeBox(html`Already ${state}${by} ${time(decided_at, now)}. Nothing was changed.`, 'plain')
}

/** What the worker gets besides the payload. */
function besides({ payload_is_elsewhere, payload_pointer, body, inputs }: ApprovalView['task']): Content {
  return html`${payload_is_elsewhere && html`<h3>Payload pointer</h3>${textBlock(payload_pointer, 'Payload pointer')}<p class="notice plain">${ELSEWHERE}</p>`}
${body !== null && html`<h3>Body</h3>${textBlock(body, 'Body')}`}
${!isEmpty(inputs) && html`<h3>Inputs</h3>${jsonBlock(inputs, 'Inputs')}`}`
}

function isEmpty(inputs: unknown): boolean {
  return typeof inputs === 'object' && inputs !== null && Object.keys(inputs).length === 0
}

/** How the work is to be done, and when; only what is not as usual. */
function conditionsOf(task: ApprovalView['task'], now: number): (Fact | false)[] {
  const { requirements, provenance, timeout_seconds } = task
  const words = (name: string, value: string | null): Fact | false =>
    value !== null && value !== '' && { name, value: line(value, 8000) }
  const at = (name: string, value: string | null): Fact | false =>
    value !== null && { name, value: html`${time(value, now)} <span class="exact">${exact(value)}</span>` }
  return [
    words('Needs', requirements.capabilities.join(', ')),
    words('Tags', requirements.tags.join(', ')),
    words('Success criteria', task.success_criteria),
    words('Delivery', task.result_delivery === 'return_payload' ? null : task.result_delivery),
    words('Expected outcome', task.expected_outcome_kind),
    words('Expected type', task.expected_artifact_mime),
    at('Not before', task.not_before),
    at('Deadline', task.deadline_at),
    words('Attempts', `at most ${task.max_attempts}`),
    timeout_seconds !== null && words('Timeout', `${timeout_seconds} s per attempt`),
    task.priority !== 0 && words('Priority', String(task.priority)),
    words('Parent task', provenance.parent_task_id),
    words('Caused by', provenance.caused_by_receipt_id),
  ]
}

/** The button is always in reach; what is rarely needed is folded away. */
function decide({ approval, token, attempt, now }: ApprovalPageView): Html {
  const { task_id, n, task } = approval
  const payload = visibleJson(task.payload)
  const typed = (name: string) => attempt?.form.get(name) ?? ''
  const isEdited =
    attempt !== undefined && typed('payload') !== '' && markOf(typed('payload')) !== markOf(payload)
  // What is decided on is what this page shows.
  const seen = html`<input type="hidden" name="n" value="${n}"><input type="hidden" name="content_hash" value="${approval.content_hash}">`
  const action = (verb: string) => `${place('approvals', task_id)}/${verb}`
  return html`<section class="decide-box" aria-label="Decide">
${form(
  token,
  action('approve'),
  html`${seen}
<details${(isEdited || typed('comment') + typed('remember_until') !== '') && html` open`}><summary>Comment, edit, remember</summary>
<label for="comment">Comment</label><input id="comment" name="comment" maxlength="2000" value="${typed('comment')}" autocomplete="off">
<label for="remember">Remember until the end of</label><input id="remember" type="date" name="remember_until" min="${new Date(now).toISOString().slice(0, 10)}" value="${typed('remember_until')}" aria-describedby="remember-hint">
<p class="hint" id="remember-hint">Until then (UTC) a rule lets ${line(task.principal_ai, 60)} do the same without asking.</p>
<label for="payload">Payload</label><textarea id="payload" name="payload" rows="${Math.min(24, payload.split('\n').length + 1)}" spellcheck="false" aria-describedby="payload-hint">${isEdited ? typed('payload') : payload}</textarea>
<input type="hidden" name="payload_mark" value="${markOf(payload)}">
<p class="hint" id="payload-hint">What you change here is what will be done. It is checked against the rules again, and the difference is recorded.</p>
</details>
<button class="button primary solid" data-key="a">Approve</button>`,
  'approve',
)}
${form(
  token,
  action('deny'),
  html`${seen}
<label class="quiet" for="reason">Reason to deny</label><input id="reason" name="reason" required maxlength="2000" placeholder="Reason, which the agent is told" value="${typed('reason')}" autocomplete="off" data-key="d">
<button class="button danger solid">Deny</button>`,
  'deny',
)}
</section>`
}

const answerShape = z.looseObject({
  comment: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
})

function decision({ state, decided_by, decided_at, answer, diff }: ApprovalView, now: number): Content {
  const parsed = answerShape.safeParse(answer)
  const said = parsed.success ? (parsed.data.comment ?? parsed.data.reason) : undefined
  return html`<section class="card decision approval-box-${state}" aria-labelledby="h-decision"><h2 id="h-decision">${state}</h2>
<p>${decided_by !== null && html`by ${principal(decided_by)} `}${decided_at !== null && html`${time(decided_at, now)} <span class="exact">${exact(decided_at)}</span>`}</p>
${said !== undefined && html`<blockquote>${line(said, 2000)}</blockquote>`}
${diff !== undefined && diff.length > 0 && differences(diff)}
</section>`
}

function differences(diff: NonNullable<ApprovalView['diff']>): Html {
  const cell = (value: unknown, kind: string) =>
    html`<td class="${kind}">${value === undefined ? html`<span class="soft">absent</span>` : html`<pre>${block(visibleJson(value), 20_000)}</pre>`}</td>`
  return html`<h3>Changed before it was approved</h3>
<div class="scroll"><table class="diff"><thead><tr><th scope="col">Where</th><th scope="col">Asked</th><th scope="col">Approved</th></tr></thead>
<tbody>${diff.map(({ path, before, after }) => html`<tr><th scope="row"><code>${line(path, 300)}</code></th>${cell(before, 'gone')}${cell(after, 'new')}</tr>`)}</tbody></table></div>`
}
