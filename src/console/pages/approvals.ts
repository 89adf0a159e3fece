import type { ApprovalView } from '../../features/questions/approvals.ts'
import { link, place } from '../fields.ts'
import { type Content, type Html, html } from '../html.ts'
import { notice } from '../notices.ts'
import { empty, heading, principal, tabs } from '../parts.ts'
import type { Page } from '../reply.ts'
import { time } from '../time.ts'
import { line } from '../untrusted.ts'
import { requestOf } from './question.ts'
import { peek, titleOf } from './tasks.ts'

interface ApprovalsView {
  readonly approvals: readonly ApprovalView[]
  readonly next_cursor: string | null
  readonly state: string
  readonly type: string | undefined
  readonly cursor: string | undefined
  readonly query: URLSearchParams
  readonly now: number
}

const STATES = ['open', 'approved', 'denied', 'expired', 'withdrawn', 'all'] as const

export function approvalsPage(view: ApprovalsView): Page {
  const { approvals, next_cursor, state, type, cursor, query } = view
  const path = (wanted: string, more: object = {}) =>
    link('/console/approvals', { state: wanted === 'open' ? undefined : wanted, type, ...more })
  return {
    kind: 'page',
    title: 'Approvals',
    place: 'approvals',
    ...(cursor === undefined && { follows: 'tasks' }),
    body: html`${heading('Approvals')}
${notice(query)}
${tabs(
  'State',
  STATES.map((each) => ({ label: each, href: path(each), current: each === state })),
)}
${type !== undefined && html`<p>Only of type <strong>${line(type)}</strong>. <a href="${link('/console/approvals', { state })}">Show all types</a></p>`}
<div data-live="list">${approvals.length === 0 ? none(state) : html`<ul class="rows approvals">${approvals.map((approval) => row(approval, view))}</ul>`}</div>
<nav class="pager" aria-label="Pages" data-live="pager">
${cursor !== undefined && html`<a class="button" href="${path(state)}">First page</a>`}
${next_cursor !== null && html`<a class="button" href="${path(state, { cursor: next_cursor })}">Next page</a>`}
</nav>`,
  }
}

function none(state: string): Html {
  return state === 'open'
    ? empty(
        'Nothing waits for you.',
        html`A task comes here when a <a href="/console/policies">rule</a> requires approval, or when a worker asks for it.`,
      )
    : empty('There are none.', html`<a href="/console/approvals">Show those that wait</a>`)
}

/** That there is more to see than the payload. */
function besides({ body, inputs, payload_is_elsewhere }: ApprovalView['task']): Content {
  const more = [
    ...(body === null ? [] : ['body']),
    ...(inputs !== null && Object.keys(inputs).length > 0 ? ['inputs'] : []),
    ...(payload_is_elsewhere ? ['a payload pointer'] : []),
  ]
  return more.length > 0 && html`<span class="row-sub">and ${more.join(', ')}</span>`
}

function row(approval: ApprovalView, { state: shown, now }: ApprovalsView): Html {
  const { task_id, n, state, request, asked_at, expires_at, decided_by, decided_at, task } = approval
  const { title, reason, rule_id } = requestOf(request)
  const saysRule = reason === undefined || rule_id === undefined || !reason.includes(rule_id)
  return html`<li class="row">
<a class="row-main" href="${link(place('approvals', task_id), { n: n > 1 ? n : undefined })}"><span class="row-title">${line(titleOf(task), 120)}</span><span class="row-sub">${line(task.summary ?? title ?? '', 200)}</span><code class="row-peek">${line(peek(task), 160)}</code>${besides(task)}</a>
<span class="row-who">${principal(task.owner)}${task.principal_ai !== task.owner.id && html` <span class="soft">for</span> ${line(task.principal_ai, 60)}`}</span>
<span class="row-why soft">${saysRule && rule_id !== undefined && html`<span class="chip">${line(rule_id, 60)}</span> `}${reason !== undefined && line(reason, 160)}</span>
<span class="row-when">${shown === 'all' && html`<span class="status approval-${state}">${state}</span> `}${
    state === 'open'
      ? html`${time(asked_at, now)}${expires_at !== null && html`<span class="soft expires">expires ${time(expires_at, now)}</span>`}`
      : html`${decided_at !== null && time(decided_at, now)}${decided_by !== null && html`<span class="soft expires">by ${principal(decided_by)}</span>`}`
  }</span>
</li>`
}
