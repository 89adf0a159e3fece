import { z } from 'zod'
import type { ApprovalView } from '../../gate/reads/approvals.ts'
import { type Attempt, complaintOf, statusOf } from '../attempt.ts'
import { link, place } from '../fields.ts'
import { type Content, type Html, html, nothing } from '../html.ts'
import { notice } from '../notices.ts'
import { facts, form, heading, identifier, jsonBlock, principal, textBlock } from '../parts.ts'
import { markOf } from '../payload-mark.ts'
import type { Page } from '../reply.ts'
import { exact, time } from '../time.ts'
import { block, line, prettyJson } from '../untrusted.ts'
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
  const { approval, query, now, attempt } = view
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
${task.summary !== null && html`<p class="lead">${line(task.summary, 500)}</p>`}
${title !== undefined && html`<p class="${task.summary === null ? 'lead' : 'soft'}">${line(title, 500)}</p>`}
${notice(query)}
${attempt && complaintOf(attempt)}
<div data-live="decision">${isOpen ? nothing : decision(approval, now)}</div>
<div class="columns">
<section aria-labelledby="h-ask"><h2 id="h-ask">Who asks</h2>
${facts([
  { name: 'Owner', value: principal(task.owner) },
  task.principal_ai !== task.owner.id && { name: 'On behalf of', value: line(task.principal_ai) },
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
  reason !== undefined && { name: 'Reason', value: line(reason, 1000) },
  task.session_id !== null && {
    name: 'Session',
    value: html`<a href="${link('/console/tasks', { session_id: task.session_id })}">${line(task.session_id, 60)}</a>`,
  },
  { name: 'Task', value: html`<a href="${place('tasks', task_id)}">${identifier(task_id)}</a>` },
])}
${show !== undefined && html`<h3>What the worker shows</h3>${typeof show === 'string' ? textBlock(show, 'What the worker shows') : jsonBlock(show, 'What the worker shows')}`}
</section>
<section aria-labelledby="h-payload"><h2 id="h-payload">${isOpen ? 'Payload' : 'Payload, as it is now'}</h2>
<div class="whole">${jsonBlock(task.payload, 'Payload')}</div></section>
</div>
<div class="decide" data-live="decide">${isOpen ? decide(view) : nothing}</div>`,
  }
}

/** The button is always in reach; what is rarely needed is folded away. */
function decide({ approval, token, attempt, now }: ApprovalPageView): Html {
  const { task_id, n, task } = approval
  const payload = prettyJson(task.payload)
  const typed = (name: string) => attempt?.form.get(name) ?? ''
  const isEdited =
    attempt !== undefined && typed('payload') !== '' && markOf(typed('payload')) !== markOf(payload)
  const action = (verb: string) => `${place('approvals', task_id)}/${verb}`
  return html`<section class="decide-box" aria-label="Decide">
${form(
  token,
  action('approve'),
  html`<input type="hidden" name="n" value="${n}">
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
  html`<input type="hidden" name="n" value="${n}">
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
    html`<td class="${kind}">${value === undefined ? html`<span class="soft">absent</span>` : html`<pre>${block(prettyJson(value), 20_000)}</pre>`}</td>`
  return html`<h3>Changed before it was approved</h3>
<div class="scroll"><table class="diff"><thead><tr><th scope="col">Where</th><th scope="col">Asked</th><th scope="col">Approved</th></tr></thead>
<tbody>${diff.map(({ path, before, after }) => html`<tr><th scope="row"><code>${line(path, 300)}</code></th>${cell(before, 'gone')}${cell(after, 'new')}</tr>`)}</tbody></table></div>`
}
