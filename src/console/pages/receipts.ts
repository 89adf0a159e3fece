import { isPrincipalKind } from '../../core/principal.ts'
import { RECEIPT_TYPES } from '../../core/receipt.ts'
import { type AgentView, listAgents } from '../../features/agents/list-agents.ts'
import type { ReceiptView } from '../../features/receipts/get-receipt.ts'
import { listOpenObligations, listReceipts } from '../../features/receipts/list-receipts.ts'
import { type Html, html } from '../../util/html.ts'
import {
  count,
  elapsed,
  empty,
  heading,
  line,
  pager,
  principal,
  table,
  tableRow,
  tabs,
  time,
} from '../components.ts'
import { itemPath, link, textIn } from '../fields.ts'
import { page, type Reply, type Visit } from '../visit.ts'
import { proofRoute, showReceipt } from './receipt.ts'
import { receiptGraph } from './receipt-graph.ts'

const LIST = '/console/receipts'
const OBLIGATIONS = '/console/receipts/obligations'
const PAGE_SIZE = 50
/** Receipts of the graph of one task. Progress reports are left out of it. */
const IN_GRAPH = 60

export const receiptRoutes = [
  page('/receipts', showReceipts),
  page('/receipts/obligations', showObligations),
  page('/receipts/{receipt_id}', showReceipt),
  proofRoute,
]

const views = (current: 'receipts' | 'obligations') =>
  tabs('View', [
    { label: 'Receipts', href: LIST, current: current === 'receipts' },
    { label: 'Open obligations', href: OBLIGATIONS, current: current === 'obligations' },
  ])

const COLUMNS = [
  { label: 'Receipt', kind: 'tight' },
  { label: 'Written', kind: 'tight' },
  { label: 'From', isExtra: true },
  { label: 'To', isExtra: true },
  { label: 'Task', kind: 'tight' },
] as const

async function showReceipts({ call, query, now, may }: Visit): Promise<Reply> {
  const receipt_type = textIn(query, 'type')
  const task_id = textIn(query, 'task_id')
  const to = principalIn(textIn(query, 'to'))
  const cursor = textIn(query, 'cursor')
  const filter = { type: receipt_type, task_id, to: textIn(query, 'to') }
  const asked = { receipt_type, task_id, to_kind: to?.kind, to_id: to?.id }
  const isFiltered = [receipt_type, task_id, to].some((value) => value !== undefined)
  const [{ receipts, next_cursor }, chain] = await Promise.all([
    call(listReceipts, {
      ...{ ...asked, order: 'newest', limit: PAGE_SIZE, since_receipt_id: cursor },
      all: to === undefined && may('inspect') ? true : undefined,
    }),
    task_id === undefined
      ? undefined
      : call(listReceipts, { task_id, receipt_types: CHAIN, limit: IN_GRAPH }),
  ])
  return {
    title: 'Receipts',
    section: 'receipts',
    ...(cursor === undefined && { follows: task_id === undefined ? 'tasks' : { task_id } }),
    body: html`${heading('Receipts')}
${views('receipts')}
${filterForm(filter)}
${chain && html`<section data-live="graph" aria-labelledby="h-graph"><h2 id="h-graph">Chain of <a href="${itemPath('tasks', task_id ?? '')}">the task</a></h2>${receiptGraph(chain.receipts)}<p class="soft">Oldest first, without progress reports. A line leads from an obligation to what closes it.${chain.next_cursor !== null && ` The first ${IN_GRAPH} are drawn.`}</p></section>`}
<div data-live="list">${
      receipts.length === 0
        ? none(isFiltered)
        : table(
            'Receipts',
            COLUMNS,
            receipts.map((receipt) => row(receipt, now)),
          )
    }</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, filter)}">Newest</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { ...filter, cursor: next_cursor })}">Older</a>`,
)}`,
  }
}

const CHAIN = RECEIPT_TYPES.filter((type) => type !== 'task.progress')

function none(isFiltered: boolean): Html {
  return isFiltered
    ? empty('No receipt matches.', html`<a href="${LIST}">Show all receipts</a>`)
    : empty(
        'There are no receipts yet.',
        'Every step of a task writes one: its creation, each claim, its end.',
      )
}

interface Filter {
  readonly type: string | undefined
  readonly task_id: string | undefined
  readonly to: string | undefined
}

function filterForm({ type, task_id, to }: Filter): Html {
  const isSet = [type, task_id, to].some((value) => value !== undefined)
  return html`<form class="filter" method="get" action="${LIST}" role="search" aria-label="Filter receipts">
<div><label for="f-type">Type</label><select id="f-type" name="type"><option value="">any</option>${RECEIPT_TYPES.map((each) => html`<option value="${each}"${each === type && html` selected`}>${each}</option>`)}</select></div>
<div><label for="f-task">Task</label><input id="f-task" name="task_id" value="${task_id ?? ''}" placeholder="complete id" autocomplete="off" spellcheck="false"></div>
<div><label for="f-to">Addressee</label><input id="f-to" name="to" value="${to ?? ''}" placeholder="agent:planner" autocomplete="off" spellcheck="false"></div>
<div class="filter-buttons"><button class="button">Filter</button>${isSet && html` <a class="link" href="${LIST}">Clear</a>`}</div>
</form>`
}

function row(receipt: ReceiptView, now: number): Html {
  return tableRow(String(receipt.seq), COLUMNS, [
    html`<a class="mono" href="${itemPath('receipts', receipt.receipt_id)}">${receipt.receipt_type}</a>`,
    time(receipt.created_at, now),
    principal(receipt.from),
    principal(receipt.to),
    receipt.task_id !== null &&
      html`<a href="${itemPath('tasks', receipt.task_id)}"><code>${receipt.task_id.slice(0, 8)}</code></a>`,
  ])
}

/** `agent:planner`, or the id of an agent. */
function principalIn(text: string | undefined): { readonly kind: string; readonly id: string } | undefined {
  if (text === undefined) return undefined
  const colon = text.indexOf(':')
  const kind = text.slice(0, Math.max(0, colon))
  return isPrincipalKind(kind) ? { kind, id: text.slice(colon + 1) } : { kind: 'agent', id: text }
}

const PRINCIPALS = [
  { label: 'Principal', kind: 'wide' },
  { label: 'Open', kind: 'number' },
  { label: 'Waiting', kind: 'number', isExtra: true },
  { label: 'Running', kind: 'number', isExtra: true },
  { label: 'Waiting for people', kind: 'number', isExtra: true },
] as const

const OWED = [
  { label: 'Obligation', kind: 'tight' },
  { label: 'Open for', kind: 'number' },
  { label: 'Task', kind: 'tight' },
] as const

async function showObligations({ call, query, now, may }: Visit): Promise<Reply> {
  const to = textIn(query, 'to')
  const named = principalIn(to)
  const since_receipt_id = textIn(query, 'cursor')
  const [found, owed] = await Promise.all([
    may('inspect') ? call(listAgents, {}) : undefined,
    named === undefined && may('inspect')
      ? undefined
      : call(listOpenObligations, {
          ...{ principal_kind: named?.kind, principal_id: named?.id },
          ...{ since_receipt_id, limit: PAGE_SIZE },
        }),
  ])
  const agents = (found?.agents ?? []).filter(({ open }) => open > 0)
  return {
    title: 'Open obligations',
    section: 'receipts',
    ...(since_receipt_id === undefined && { follows: 'tasks' }),
    body: html`${heading('Open obligations')}
${views('obligations')}
<p class="soft">An obligation begins when a task is created, and is closed by the receipt of its end. These are still owed.</p>
${found && html`<div data-live="principals">${agents.length === 0 ? empty('Nothing is owed.', 'Every task has ended.') : table('Open obligations by principal', PRINCIPALS, agents.map(principalRow))}</div>`}
${
  owed &&
  html`<section aria-labelledby="h-owed"><h2 id="h-owed">Owed to ${named === undefined ? 'you' : principal(named)}, oldest first</h2>
<div data-live="list">${
    owed.open_obligations.length === 0
      ? empty('Nothing is owed.', 'Every obligation is closed.')
      : table(
          'Open obligations',
          OWED,
          owed.open_obligations.map((receipt) => owedRow(receipt, now)),
        )
  }</div>
${pager(
  since_receipt_id !== undefined && html`<a class="button" href="${link(OBLIGATIONS, { to })}">Oldest</a>`,
  owed.cursor !== null &&
    html`<a class="button" href="${link(OBLIGATIONS, { to, cursor: owed.cursor })}">Newer</a>`,
)}</section>`
}`,
  }
}

function principalRow({
  principal: who,
  open,
  waiting,
  running,
  pending_approval,
  input_required,
}: AgentView): Html {
  const key = `${who.kind}:${who.id}`
  return tableRow(key, PRINCIPALS, [
    html`<a href="${link(OBLIGATIONS, { to: key })}">${line(key, 80)}</a>`,
    count(open),
    count(waiting),
    count(running),
    count(pending_approval + input_required),
  ])
}

function owedRow(receipt: ReceiptView, now: number): Html {
  return tableRow(String(receipt.seq), OWED, [
    html`<a class="mono" href="${itemPath('receipts', receipt.receipt_id)}">${receipt.receipt_type}</a>`,
    elapsed(receipt.created_at, now),
    receipt.task_id !== null &&
      html`<a href="${itemPath('tasks', receipt.task_id)}"><code>${receipt.task_id.slice(0, 8)}</code></a>`,
  ])
}
