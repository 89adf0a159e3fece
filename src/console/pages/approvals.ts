import { Fault, invalid } from '../../core/errors.ts'
import { jsonText } from '../../engine/stored-json.ts'
import { type ApprovalView, getApproval, listApprovals } from '../../features/questions/approvals.ts'
import { approve } from '../../features/questions/approve.ts'
import { deny } from '../../features/questions/decision.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import { visibleJson } from '../../util/untrusted-text.ts'
import {
  block,
  empty,
  form,
  heading,
  hidden,
  line,
  notice,
  pager,
  principal,
  tabs,
  time,
} from '../components.ts'
import { itemPath, jsonIn, link, numberIn, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, unless, type Visit } from '../visit.ts'
import { approvalPage, payloadHash } from './approval.ts'
import { requestOf } from './question.ts'
import { titleOf } from './task-title.ts'

const LIST = '/console/approvals'
const PAGE_SIZE = 50

const STATES = ['open', 'approved', 'denied', 'expired', 'withdrawn', 'all'] as const

export const approvalRoutes = [
  page('/approvals', showApprovals),
  action('/approvals/decide', decideMany),
  page('/approvals/{task_id}', showApproval),
  action('/approvals/{task_id}/preview', showApproval, showApproval),
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

/** Earlier approvals of the same agent and type, and the next one to decide. */
const EARLIER = 6

async function showApproval(visit: Visit): Promise<Reply> {
  const { call, params, query, form, fault } = visit
  const n = numberIn(fault ? form : query, 'n') ?? numberIn(form, 'n')
  const approval = await call(getApproval, { task_id: params.task_id, n })
  const { owner, type } = approval.task
  const [earlier, open] = await Promise.all([
    call(listApprovals, { state: 'all', type, created_by: `${owner.kind}:${owner.id}`, limit: EARLIER }),
    call(listApprovals, { state: 'open', limit: 2 }),
  ])
  const isOther = ({ task_id, n: other }: ApprovalView) =>
    task_id !== approval.task_id || other !== approval.n
  return approvalPage(approval, visit, {
    earlier: earlier.approvals.filter(isOther),
    next: open.approvals.find(isOther),
  })
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

/** Each box of the list names an approval and the content that the list has shown. */
const ITEM = /^([\w-]{1,64})\.(\d{1,9})\.([\w:+/=-]{1,128})$/

/** Decides the selected approvals of the list, or the one whose button was pressed. */
async function decideMany({ call, form }: Visit): Promise<Reply> {
  const filter = filterIn(form)
  const one = textIn(form, 'approve_one') ?? textIn(form, 'deny_one')
  const verdict = form.has('approve_one')
    ? 'approve'
    : form.has('deny_one')
      ? 'deny'
      : textIn(form, 'verdict')
  const chosen = one === undefined ? form.getAll('item') : [one]
  if (chosen.length === 0) return redirect(LIST, { ...filter, notice: 'none' })
  const reason = textIn(form, one === undefined ? 'reason' : `reason-${one}`)
  if (verdict !== 'approve' && reason === undefined) throw invalid('reason', 'is required to deny')
  const outcomes = await Promise.all(
    chosen.map(async (item) => {
      const [, task_id, n, content_hash] = ITEM.exec(item) ?? []
      const decision = { task_id, n: Number(n), content_hash }
      try {
        const { is_duplicate } = await (verdict === 'approve'
          ? call(approve, decision)
          : call(deny, { ...decision, reason }))
        return !is_duplicate
      } catch (error) {
        if (error instanceof Fault && LEFT.has(error.code)) return false
        throw error
      }
    }),
  )
  const done = outcomes.filter(Boolean).length
  return redirect(LIST, {
    ...filter,
    notice: verdict === 'approve' ? 'approved_some' : 'denied_some',
    ...{ done, kept: outcomes.length - done },
  })
}

/** Somebody else was faster, the content is not what the list has shown, or the person asked for it. */
const LEFT: ReadonlySet<string> = new Set([
  'ALREADY_DECIDED',
  'CONTENT_CHANGED',
  'FORBIDDEN',
  'TASK_NOT_FOUND',
])

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

function filterIn(fields: URLSearchParams) {
  return {
    state: textIn(fields, 'state'),
    type: textIn(fields, 'type'),
    agent: textIn(fields, 'agent'),
    rule: textIn(fields, 'rule'),
  }
}

async function showApprovals({ call, query, now, token, may }: Visit): Promise<Reply> {
  const filter = filterIn(query)
  const state = filter.state ?? 'open'
  const cursor = textIn(query, 'cursor')
  const { approvals, next_cursor } = await call(listApprovals, {
    ...{ state, type: filter.type, created_by: filter.agent, rule_id: filter.rule },
    ...{ cursor, limit: PAGE_SIZE },
  })
  const path = (wanted: string, more: object = {}) =>
    link(LIST, { ...filter, state: wanted === 'open' ? undefined : wanted, ...more })
  const canDecide = state === 'open' && may('approve')
  const shown = html`<div data-live="list">${approvals.length === 0 ? none(state, filter) : html`<ul class="rows approvals">${approvals.map((approval) => row(approval, state, canDecide, now))}</ul>`}</div>`
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
${filterForm(filter, approvals)}
${canDecide && approvals.length > 0 ? form(token, '/console/approvals/decide', html`${hidden(filter)}${shown}${selectionBar()}`) : shown}
${pager(
  cursor !== undefined && html`<a class="button" href="${path(state)}">First page</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${path(state, { cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

type Filter = ReturnType<typeof filterIn>

/** Filters by agent, type and rule. The fields suggest what the list contains. */
function filterForm(filter: Filter, approvals: readonly ApprovalView[]): Html {
  const isSet = [filter.agent, filter.type, filter.rule].some((value) => value !== undefined)
  const known = {
    agent: approvals.map(({ task }) => `${task.owner.kind}:${task.owner.id}`),
    type: approvals.map(({ task }) => task.type),
    rule: approvals.flatMap(({ request }) => requestOf(request).rule_id ?? []),
  }
  const field = (name: 'agent' | 'type' | 'rule', label: string) =>
    html`<div><label for="f-${name}">${label}</label><input id="f-${name}" name="${name}" value="${filter[name] ?? ''}" list="l-${name}" autocomplete="off" spellcheck="false"><datalist id="l-${name}">${[...new Set(known[name])].map((value) => html`<option value="${value}"></option>`)}</datalist></div>`
  return html`<details class="filters"${isSet && html` open`}><summary>Filter</summary><form class="filter" method="get" action="${LIST}" role="search" aria-label="Filter approvals">${hidden({ state: filter.state })}
${field('agent', 'Agent')}${field('type', 'Type')}${field('rule', 'Rule')}
<div class="filter-buttons"><button class="button">Filter</button>${isSet && html` <a class="link" href="${link(LIST, { state: filter.state })}">Clear</a>`}</div>
</form></details>`
}

function none(state: string, { agent, type, rule }: Filter): Html {
  if ([agent, type, rule].some((value) => value !== undefined)) {
    return empty('No approval matches.', html`<a href="${link(LIST, { state })}">Clear the filter</a>`)
  }
  return state === 'open'
    ? empty(
        'No approvals are waiting.',
        html`A task is listed here when a <a href="/console/policies">rule</a> or its worker requires approval.`,
      )
    : empty('There are none.', html`<a href="/console/approvals">Show open approvals</a>`)
}

/** A longer payload is not decided from the list, because the person who decides must see all of it. */
const MAX_INLINE = 600

/** Whether the row shows everything that the worker will receive. */
function isComplete({ task, request }: ApprovalView): boolean {
  const { body, inputs, payload, payload_is_elsewhere } = task
  const hasInputs = inputs !== null && typeof inputs === 'object' && Object.keys(inputs).length > 0
  const { show } = requestOf(request)
  const rest = body !== null || hasInputs || payload_is_elsewhere || show !== undefined
  return !rest && jsonText(payload).length <= MAX_INLINE
}

/** What the task has besides its payload, which the list does not show. */
function besides({ body, inputs, payload_is_elsewhere }: ApprovalView['task']): Content {
  const more = [
    ...(body === null ? [] : ['body']),
    ...(inputs !== null && Object.keys(inputs).length > 0 ? ['inputs'] : []),
    ...(payload_is_elsewhere ? ['a payload pointer'] : []),
  ]
  return more.length > 0 && html`<span class="row-sub">and ${more.join(', ')}</span>`
}

function row(approval: ApprovalView, shown: string, canDecide: boolean, now: number): Html {
  const { task_id, n, state, request, asked_at, expires_at, decided_by, decided_at, task } = approval
  const { title, reason, rule_id } = requestOf(request)
  const item = `${task_id}.${n}.${approval.content_hash}`
  const isWhole = isComplete(approval)
  const path = link(itemPath('approvals', task_id), { n: n > 1 ? n : undefined })
  const namesRule = reason === undefined || rule_id === undefined || !reason.includes(rule_id)
  return html`<li class="row" data-row="${task_id}.${n}">
${canDecide && html`<label class="pick"><input type="checkbox" name="item" value="${item}"${!isWhole && html` disabled`}><span class="quiet">Select ${line(titleOf(task), 60)}</span></label>`}
<div class="row-what"><a class="row-link" href="${path}"><span class="row-title">${line(titleOf(task), 120)}</span></a>
<span class="row-sub">${line(task.summary ?? title ?? '', 200)}</span>
${isWhole ? html`<pre class="row-payload">${block(visibleJson(task.payload, 0), MAX_INLINE * 4)}</pre>` : html`<code class="row-peek">${line(jsonText(task.payload).slice(0, 400), 160)}</code>`}${besides(task)}
<span class="row-sub">${principal(task.owner)}${task.principal_ai !== task.owner.id && html` for ${line(task.principal_ai, 60)}`}${namesRule && rule_id !== undefined && html` · ${line(rule_id, 60)}`}${reason !== undefined && html` · ${line(reason, 200)}`}</span></div>
<span class="row-when">${shown === 'all' && html`<span class="status approval-${state}">${state}</span> `}${
    state === 'open'
      ? html`${time(asked_at, now)}${expires_at !== null && html`<span class="soft expires">expires ${time(expires_at, now)}</span>`}`
      : html`${decided_at !== null && time(decided_at, now)}${decided_by !== null && html`<span class="soft expires">by ${principal(decided_by)}</span>`}`
  }</span>
${canDecide && html`<div class="row-buttons">${isWhole ? buttons(item) : html`<a class="button" href="${path}" data-key="a">Read all and decide</a>`}</div>`}
</li>`
}

function buttons(item: string): Content {
  return html`<button class="button primary" name="approve_one" value="${item}" data-key="a">Approve</button>
<details class="sure"><summary class="button danger">Deny…</summary><label class="quiet" for="r-${item}">Reason to deny</label><input id="r-${item}" name="reason-${item}" maxlength="2000" placeholder="Reason, shown to the agent" autocomplete="off" data-key="d"><button class="button danger solid" name="deny_one" value="${item}">Deny</button></details>`
}

/** Decides all selected approvals. It is hidden while none is selected. */
function selectionBar(): Html {
  return html`<div class="bar" role="region" aria-label="Selection"><span class="bar-count" data-selected aria-live="polite"></span>
<button class="button primary" name="verdict" value="approve">Approve all selected</button>
<label class="quiet" for="reason">Reason to deny</label><input id="reason" name="reason" maxlength="2000" placeholder="Reason to deny" autocomplete="off">
<button class="button danger" name="verdict" value="deny">Deny all selected</button></div>`
}
