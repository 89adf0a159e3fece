import { hash } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../core/json/text.ts'
import { ELSEWHERE } from '../../core/question.ts'
import type { ApprovalView } from '../../features/questions/approvals.ts'
import { type Content, type Html, html, nothing } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  block,
  bothTimes,
  type Fact,
  facts,
  faultBox,
  form,
  heading,
  hidden,
  identifier,
  jsonBlock,
  line,
  notice,
  noticeBox,
  principal,
  statusOf,
  textBlock,
  time,
} from '../components.ts'
import { itemPath, link } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'
import { payloadDiff } from './payload-diff.ts'
import { requestOf } from './question.ts'
import { taskQuery, tasksWith } from './task-query.ts'
import { peek, titleOf } from './task-title.ts'

/** Identifies the payload that a page has shown. Browsers change line breaks. */
export function payloadHash(text: string): string {
  return hash('sha256', text.replaceAll('\r\n', '\n').trim())
}

/** The approvals around the one that is shown. */
interface Others {
  /** Of the same agent and type, newest first. */
  readonly earlier: readonly ApprovalView[]
  /** The one that waits longest. */
  readonly next: ApprovalView | undefined
}

export function approvalPage(approval: ApprovalView, visit: Visit, { earlier, next }: Others): Page {
  const { now, fault } = visit
  const { task, task_id, state } = approval
  const { title, reason, rule_id, approve_by, show } = requestOf(approval.request)
  const isOpen = state === 'open'
  return {
    title: titleOf(task),
    section: 'approvals',
    status: statusOf(fault),
    follows: { task_id },
    body: html`<p class="crumbs"><a href="/console/approvals">Approvals</a></p>
${heading(line(titleOf(task), 160), html`<span data-live="state"><span class="status approval-${state}">${state}</span></span>`)}
${task.summary !== null && html`<p class="lead">${line(task.summary, 2000)}</p>`}
${title !== undefined && html`<p class="${task.summary === null ? 'lead' : 'soft'}">${line(title, 500)}</p>`}
${noticeFor(approval, visit)}
${faultBox(fault)}
<div data-live="decision">${isOpen ? nothing : [decision(approval, now), nextLink(next)]}</div>
<section class="why" aria-labelledby="h-why"><h2 id="h-why">Why this needs approval</h2>
<p>${principal(task.owner)}${task.principal_ai !== task.owner.id && html` (for ${line(task.principal_ai, 255)})`} ${approval.origin === 'worker' ? html`created the task; its worker ${principal(approval.asked_by)} asks.` : 'asks for it.'} ${reason === undefined ? (rule_id === undefined ? 'A person has to decide.' : html`The rule ${ruleLink(rule_id)} requires approval.`) : html`${line(reason, 2000)}${rule_id !== undefined && html` (${ruleLink(rule_id)})`}`}</p>
${show !== undefined && html`<h3>What the worker shows</h3>${typeof show === 'string' ? textBlock(show, 'What the worker shows') : jsonBlock(show, 'What the worker shows')}`}</section>
<section aria-labelledby="h-payload"><h2 id="h-payload">${state === 'approved' ? 'Approved payload' : 'Payload'}</h2>
<div class="full">${jsonBlock(task.payload, 'Payload')}${besides(task)}</div></section>
<div class="decide" data-live="decide">${isOpen && visit.may('approve') ? decide(approval, visit) : nothing}</div>
<div class="columns">
<section aria-labelledby="h-ask"><h2 id="h-ask">Facts</h2>
${facts([
  { name: 'Owner', value: principal(task.owner) },
  task.principal_ai !== task.owner.id && { name: 'On behalf of', value: line(task.principal_ai, 255) },
  { name: 'Waiting since', value: bothTimes(approval.asked_at, now) },
  { name: 'Expires', value: approval.expires_at === null ? 'never' : bothTimes(approval.expires_at, now) },
  approve_by === 'client' && { name: 'Also decided by', value: 'the user of the client, in the client' },
  task.session_id !== null && {
    name: 'Session',
    value: html`<a href="${tasksWith(taskQuery('session', task.session_id))}">${line(task.session_id, 60)}</a>`,
  },
  { name: 'Task', value: html`<a href="${itemPath('tasks', task_id)}">${identifier(task_id)}</a>` },
  ...conditionsOf(task, now),
  { name: 'Content hash', value: identifier(approval.content_hash) },
])}
</section>
${before(task, earlier, now)}
</div>`,
  }
}

function ruleLink(id: string): Html {
  return html`<a href="${itemPath('policies/rules', id)}">${line(id, 80)}</a>`
}

function nextLink(next: ApprovalView | undefined): Content {
  if (next === undefined) return html`<p><a href="/console/approvals">No other approvals are waiting</a></p>`
  const path = link(itemPath('approvals', next.task_id), { n: next.n > 1 ? next.n : undefined })
  return html`<p><a class="button primary" href="${path}" data-key="a">Next: ${line(titleOf(next.task), 60)}</a></p>`
}

/** What the same agent asked for before, and what became of it. */
function before({ owner, type }: ApprovalView['task'], earlier: readonly ApprovalView[], now: number): Html {
  const who = `${owner.kind}:${owner.id}`
  return html`<section aria-labelledby="h-before"><h2 id="h-before">What this agent did before</h2>
${
  earlier.length === 0
    ? html`<p class="soft">This is its first approval of this type.</p>`
    : html`<ul class="log">${earlier.map(
        ({ task_id, n, state, asked_at, decided_by, task }) =>
          html`<li><span class="when">${time(asked_at, now)}</span><span class="status approval-${state}">${state}</span><a class="clip" href="${link(itemPath('approvals', task_id), { n: n > 1 ? n : undefined })}">${line(task.summary ?? peek(task), 80)}</a>${decided_by !== null && html`<span class="soft">by ${principal(decided_by)}</span>`}</li>`,
      )}</ul>`
}
<p><a href="${tasksWith(`${taskQuery('agent', who)} ${taskQuery('type', type)}`)}">All its tasks of this type</a></p></section>`
}

/** The notice. To a person whose decision came second it shows the first one. */
function noticeFor({ state, decided_by, decided_at }: ApprovalView, { query, now }: Visit): Html {
  if (query.get('notice') !== 'decided' || decided_by === null || decided_at === null) return notice(query)
  const by = state === 'expired' ? '' : html` by ${principal(decided_by)}`
  return noticeBox(html`Already ${state}${by} ${time(decided_at, now)}. Nothing was changed.`, 'plain')
}

/** What the worker receives besides the payload. */
function besides({ payload_is_elsewhere, payload_pointer, body, inputs }: ApprovalView['task']): Content {
  return html`${payload_is_elsewhere && html`<h3>Payload pointer</h3>${textBlock(payload_pointer, 'Payload pointer')}<p class="notice plain">${ELSEWHERE}</p>`}
${body !== null && html`<h3>Body</h3>${textBlock(body, 'Body')}`}
${!isEmpty(inputs) && html`<h3>Inputs</h3>${jsonBlock(inputs, 'Inputs')}`}`
}

function isEmpty(inputs: unknown): boolean {
  return typeof inputs === 'object' && inputs !== null && Object.keys(inputs).length === 0
}

/** Conditions of the task that differ from the defaults. */
function conditionsOf(task: ApprovalView['task'], now: number): (Fact | false)[] {
  const { requirements, provenance, timeout_seconds } = task
  const words = (name: string, value: string | null): Fact | false =>
    value !== null && value !== '' && { name, value: line(value, 8000) }
  const at = (name: string, value: string | null): Fact | false =>
    value !== null && { name, value: bothTimes(value, now) }
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

/** The forms of the decision. Fields that are rarely needed are collapsed. */
function decide({ task_id, n, task, content_hash }: ApprovalView, { token, form: sent, now }: Visit): Html {
  const payload = visibleJson(task.payload)
  const typed = (name: string) => sent.get(name) ?? ''
  const isEdited = typed('payload') !== '' && payloadHash(typed('payload')) !== payloadHash(payload)
  // A decision applies to the content that this page shows.
  const seen = hidden({ n, content_hash })
  const action = (verb: string) => `${itemPath('approvals', task_id)}/${verb}`
  return html`<section class="decide-box" aria-label="Decide">
${form(
  token,
  action('approve'),
  html`${seen}
<details${(isEdited || typed('comment') + typed('remember_until') !== '') && html` open`}><summary>Comment, edit, remember</summary>
<label for="comment">Comment</label><input id="comment" name="comment" maxlength="2000" value="${typed('comment')}" autocomplete="off">
<label for="remember">Remember until the end of</label><input id="remember" type="date" name="remember_until" min="${new Date(now).toISOString().slice(0, 10)}" value="${typed('remember_until')}" aria-describedby="remember-hint">
<p class="hint" id="remember-hint">Until then (UTC) a rule allows ${line(task.principal_ai, 60)} to do the same without approval.</p>
<label for="payload">Payload</label><textarea id="payload" name="payload" rows="${Math.min(24, payload.split('\n').length + 1)}" spellcheck="false" aria-describedby="payload-hint">${isEdited ? typed('payload') : payload}</textarea>
${hidden({ payload_mark: payloadHash(payload) })}
<p class="hint" id="payload-hint">The task runs with the changed payload. The rules are checked again, and the difference is recorded.</p>
<button class="button small" formaction="${action('preview')}">Show the changes</button>
${isEdited && edits(task.payload, typed('payload'))}
</details>
<button class="button primary solid" data-key="a">Approve</button>`,
  'approve',
)}
${form(
  token,
  action('deny'),
  html`${seen}
<label class="quiet" for="reason">Reason to deny</label><input id="reason" name="reason" required maxlength="2000" placeholder="Reason, shown to the agent" value="${typed('reason')}" autocomplete="off" data-key="d">
<button class="button danger solid">Deny</button>`,
  'deny',
)}
</section>`
}

/** The difference between the payload and what was typed, if that is JSON. */
function edits(payload: unknown, typed: string): Content {
  try {
    return payloadDiff(payload, parseJson(typed))
  } catch {
    return html`<p class="notice bad">The payload is not valid JSON yet.</p>`
  }
}

const answerShape = z.looseObject({
  comment: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
  /** The program in which its user decided. */
  client: z
    .looseObject({ name: z.string().nullable(), version: z.string().nullable() })
    .optional()
    .catch(undefined),
})

function decision({ state, decided_by, decided_at, answer, diff }: ApprovalView, now: number): Content {
  const parsed = answerShape.safeParse(answer)
  const said = parsed.success ? (parsed.data.comment ?? parsed.data.reason) : undefined
  const client = parsed.success ? parsed.data.client : undefined
  const where = client && [client.name ?? 'the client', client.version ?? ''].join(' ').trim()
  return html`<section class="card decision approval-box-${state}" aria-labelledby="h-decision"><h2 id="h-decision">${state}</h2>
<p>${decided_by !== null && html`by ${principal(decided_by)}${where !== undefined && html`, on behalf of its user in ${line(where, 200)},`} `}${decided_at !== null && bothTimes(decided_at, now)}</p>
${said !== undefined && html`<blockquote>${line(said, 2000)}</blockquote>`}
${diff !== undefined && diff.length > 0 && differences(diff)}
</section>`
}

function differences(diff: NonNullable<ApprovalView['diff']>): Html {
  const cell = (value: unknown, kind: string) =>
    html`<td class="${kind}">${value === undefined ? html`<span class="soft">absent</span>` : html`<pre>${block(visibleJson(value), 20_000)}</pre>`}</td>`
  return html`<h3>Changes made on approval</h3>
<div class="scroll"><table class="diff"><thead><tr><th scope="col">Path</th><th scope="col">Requested</th><th scope="col">Approved</th></tr></thead>
<tbody>${diff.map(({ path, before, after }) => html`<tr><th scope="row"><code>${line(path, 300)}</code></th>${cell(before, 'gone')}${cell(after, 'new')}</tr>`)}</tbody></table></div>`
}
