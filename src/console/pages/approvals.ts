import { invalid } from '../../core/errors.ts'
import { type ApprovalView, getApproval, listApprovals } from '../../features/questions/approvals.ts'
import { approve } from '../../features/questions/approve.ts'
import { deny } from '../../features/questions/decision.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { empty, heading, line, notice, pager, principal, tabs, time } from '../components.ts'
import { itemPath, jsonIn, link, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { approvalPage, payloadHash } from './approval.ts'
import { requestOf } from './question.ts'
import { peek, titleOf } from './task-title.ts'

const PAGE_SIZE = 50

const STATES = ['open', 'approved', 'denied', 'expired', 'withdrawn', 'all'] as const

export const approvalRoutes = [
  page('/approvals', showApprovals),
  page('/approvals/{task_id}', showApproval),
  action(
    '/approvals/{task_id}/approve',
    (visit) =>
      decide(visit, async (decision) => {
        const { form } = visit
        const { rule_id, is_duplicate } = await visit.call(approve, {
          ...decision,
          comment: textIn(form, 'comment'),
          payload: editedPayload(form),
          remember_until: rememberUntil(form),
        })
        if (is_duplicate) return 'decided'
        return rule_id === undefined ? 'approved' : 'remembered'
      }),
    showApproval,
  ),
  action(
    '/approvals/{task_id}/deny',
    (visit) =>
      decide(visit, async (decision) => {
        const reason = textIn(visit.form, 'reason')
        const { is_duplicate } = await visit.call(deny, { ...decision, reason })
        return is_duplicate ? 'decided' : 'denied'
      }),
    showApproval,
  ),
]

async function showApproval(visit: Visit): Promise<Reply> {
  const { params, query, form, fault } = visit
  const n = numberIn(fault ? form : query, 'n')
  return approvalPage(await visit.call(getApproval, { task_id: params.task_id, n }), visit)
}

interface Decision {
  readonly task_id: string
  readonly n: number | undefined
  readonly content_hash: string | undefined
}

/** A second decision is not an error: the page shows the first one. */
async function decide(
  { params: { task_id = '' }, form }: Visit,
  send: (decision: Decision) => Promise<string>,
): Promise<Reply> {
  const n = numberIn(form, 'n')
  const decision = { task_id, n, content_hash: textIn(form, 'content_hash') }
  const notice = await unless('ALREADY_DECIDED', send(decision), 'decided')
  return redirect(itemPath('approvals', task_id), { n, notice })
}

/** The edited payload; undefined if it was not changed. */
function editedPayload(form: URLSearchParams) {
  const text = textIn(form, 'payload')
  const isSame = text === undefined || payloadHash(text) === form.get('payload_mark')
  return isSame ? undefined : jsonIn(form, 'payload')
}

/** The end of the day in UTC. */
function rememberUntil(form: URLSearchParams): string | undefined {
  const date = textIn(form, 'remember_until')
  if (date === undefined) return undefined
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw invalid('remember_until', 'is not a date like 2026-12-31')
  return `${date}T23:59:59.999Z`
}

async function showApprovals({ call, query, now }: Visit): Promise<Reply> {
  const state = textIn(query, 'state') ?? 'open'
  const type = textIn(query, 'type')
  const cursor = textIn(query, 'cursor')
  const { approvals, next_cursor } = await call(listApprovals, { state, type, cursor, limit: PAGE_SIZE })
  const path = (wanted: string, more: object = {}) =>
    link('/console/approvals', { state: wanted === 'open' ? undefined : wanted, type, ...more })
  return {
    title: 'Approvals',
    section: 'approvals',
    ...(cursor === undefined && { follows: 'tasks' }),
    body: html`${heading('Approvals')}
${notice(query)}
${tabs(
  'State',
  STATES.map((each) => ({ label: each, href: path(each), current: each === state })),
)}
${type !== undefined && html`<p>Only of type <strong>${line(type)}</strong>. <a href="${link('/console/approvals', { state })}">Show all types</a></p>`}
<div data-live="list">${approvals.length === 0 ? none(state) : html`<ul class="rows approvals">${approvals.map((approval) => row(approval, state, now))}</ul>`}</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${path(state)}">First page</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${path(state, { cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

function none(state: string): Html {
  return state === 'open'
    ? empty(
        'No approvals are waiting.',
        html`A task is listed here when a <a href="/console/policies">rule</a> or its worker requires approval.`,
      )
    : empty('There are none.', html`<a href="/console/approvals">Show open approvals</a>`)
}

/** What the task has besides its payload. */
function besides({ body, inputs, payload_is_elsewhere }: ApprovalView['task']): Content {
  const more = [
    ...(body === null ? [] : ['body']),
    ...(inputs !== null && Object.keys(inputs).length > 0 ? ['inputs'] : []),
    ...(payload_is_elsewhere ? ['a payload pointer'] : []),
  ]
  return more.length > 0 && html`<span class="row-sub">and ${more.join(', ')}</span>`
}

function row(approval: ApprovalView, shown: string, now: number): Html {
  const { task_id, n, state, request, asked_at, expires_at, decided_by, decided_at, task } = approval
  const { title, reason, rule_id } = requestOf(request)
  const namesRule = reason === undefined || rule_id === undefined || !reason.includes(rule_id)
  return html`<li class="row">
<a class="row-main" href="${link(itemPath('approvals', task_id), { n: n > 1 ? n : undefined })}"><span class="row-title">${line(titleOf(task), 120)}</span><span class="row-sub">${line(task.summary ?? title ?? '', 200)}</span><code class="row-peek">${line(peek(task), 160)}</code>${besides(task)}</a>
<span class="row-who">${principal(task.owner)}${task.principal_ai !== task.owner.id && html` <span class="soft">for</span> ${line(task.principal_ai, 60)}`}</span>
<span class="row-why soft">${namesRule && rule_id !== undefined && html`<span class="chip">${line(rule_id, 60)}</span> `}${reason !== undefined && line(reason, 160)}</span>
<span class="row-when">${shown === 'all' && html`<span class="status approval-${state}">${state}</span> `}${
    state === 'open'
      ? html`${time(asked_at, now)}${expires_at !== null && html`<span class="soft expires">expires ${time(expires_at, now)}</span>`}`
      : html`${decided_at !== null && time(decided_at, now)}${decided_by !== null && html`<span class="soft expires">by ${principal(decided_by)}</span>`}`
  }</span>
</li>`
}
