import type { Permission } from '../../core/authorization.ts'
import { getHistory, HISTORY_PERIODS, type HistoryView } from '../../features/history/get-history.ts'
import type { Attention } from '../../features/overview/attention.ts'
import type { FailingType } from '../../features/overview/failing-types.ts'
import { getOverview, type OverviewView } from '../../features/overview/get-overview.ts'
import type { UnservedType } from '../../features/overview/unserved-types.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  command,
  count,
  elapsed,
  empty,
  heading,
  line,
  notice,
  table,
  tableRow,
  tabs,
  time,
} from '../components.ts'
import { itemPath, link, textIn } from '../fields.ts'
import { pathOf, SECTIONS, type Section } from '../navigation.ts'
import { page, type Reply, redirect, type Visit } from '../visit.ts'
import { charts } from './overview-charts.ts'

const PATH = '/console/overview'
const POLL_SECONDS = 5

type Period = (typeof HISTORY_PERIODS)[number]

const PERIODS: Readonly<Record<Period, string>> = {
  hour: 'Last hour',
  day: 'Last day',
  month: 'Last 30 days',
}

export const overviewRoutes = [
  page('', async ({ may }) => redirect(may('inspect') ? PATH : pathOf('approvals'))),
  page('/overview', showOverview),
]

async function showOverview({ call, query, now, may }: Visit): Promise<Reply> {
  const asked = textIn(query, 'period')
  const period = HISTORY_PERIODS.find((each) => each === asked) ?? 'hour'
  const [overview, history] = await Promise.all([call(getOverview, {}), call(getHistory, { period })])
  const periods = tabs(
    'Period',
    HISTORY_PERIODS.map((each) => ({
      label: PERIODS[each],
      href: link(PATH, { period: each === 'hour' ? undefined : each }),
      current: each === period,
    })),
  )
  return {
    title: 'Overview',
    section: 'overview',
    poll: POLL_SECONDS,
    body: html`${heading('Overview')}
${notice(query)}
<div data-live="attention">${isNew(overview, history) ? welcome() : attention(overview.attention, may)}</div>
<div data-live="tiles">${tiles(overview, now)}</div>
<div class="period">${periods}<span class="soft">Times are in UTC.</span></div>
${charts(history)}
<div class="columns">
<section aria-labelledby="failing" data-live="failing"><h2 id="failing">Failing types</h2>${failing(overview.failing_types, now)}</section>
<section aria-labelledby="unserved" data-live="unserved"><h2 id="unserved">Types without a live worker</h2>${unserved(overview.unserved_types)}</section>
</div>`,
  }
}

/** Whether there is nothing to show yet. */
function isNew({ tasks: { more, ...tasks } }: OverviewView, { totals }: HistoryView): boolean {
  return !more && totals.created === 0 && Object.values(tasks).every((each) => each === 0)
}

/** For people who see the console for the first time. */
function welcome(): Html {
  return html`<section class="card welcome" aria-labelledby="welcome"><h2 id="welcome">Create the first task</h2>
<p>Run these commands in the folder of the server. This page shows what happens as it happens.</p>
<ol>
<li><p>Create a task and wait for its result. The development server has a worker for tasks of type echo:</p>${command(`npx asyncgate tasks create echo --payload '{"hello":"world"}' --wait`)}</li>
<li><p>Start a worker for more types, such as <code>sleep_then_return</code> and <code>http_get</code>:</p>${command('npx asyncgate worker')}</li>
<li><p>Connect an agent, so that it can delegate work:</p>${command('npx asyncgate mcp add --client claude-code')}</li>
<li><p>Require your approval for a type of task, then create one and decide on it <a href="/console/approvals">here</a>:</p>${command('npx asyncgate policies set ask-first require-approval --type echo')}</li>
</ol></section>`
}

interface AttentionText {
  /** The page where a person can act. */
  readonly to: Section | string
  text(count: number): string
  readonly isUrgent?: true
}

const ATTENTION: Readonly<Record<Attention['kind'], AttentionText>> = {
  approvals: { to: 'approvals', text: (n) => `${n === 1 ? 'approval is' : 'approvals are'} waiting` },
  questions: {
    to: link('/console/tasks', { status: 'input_required' }),
    text: (n) => `${n === 1 ? 'task needs' : 'tasks need'} input`,
  },
  unserved_types: {
    to: '#unserved',
    text: (n) => `task ${n === 1 ? 'type has' : 'types have'} no live worker`,
    isUrgent: true,
  },
  upstreams_down: {
    to: 'upstreams',
    text: (n) => `${n === 1 ? 'upstream is' : 'upstreams are'} down`,
    isUrgent: true,
  },
  quarantined_tools: {
    to: 'upstreams',
    text: (n) => `quarantined ${n === 1 ? 'tool waits' : 'tools wait'} for review`,
  },
  schedules_late: {
    to: 'schedules',
    text: (n) => `${n === 1 ? 'schedule is' : 'schedules are'} late: is a scheduler running?`,
    isUrgent: true,
  },
  schedules_failing: {
    to: 'schedules',
    text: (n) => `${n === 1 ? 'schedule' : 'schedules'} could not create the last task`,
    isUrgent: true,
  },
  anomalies: {
    to: 'receipts',
    text: (n) => `${n === 1 ? 'anomaly was' : 'anomalies were'} reported in the last day`,
    isUrgent: true,
  },
  receipts_pending: { to: 'receipts', text: () => 'receipts wait for the shared ledger' },
  receipts_set_aside: {
    to: 'receipts',
    text: (n) => `${n === 1 ? 'receipt was' : 'receipts were'} refused by the shared ledger`,
    isUrgent: true,
  },
  retention_paused: { to: 'retention', text: () => 'tenant has paused its retention' },
  retention_late: {
    to: 'retention',
    text: (n) => `ended ${n === 1 ? 'task is' : 'tasks are'} overdue for removal`,
    isUrgent: true,
  },
}

function attention(list: readonly Attention[], may: (permission: Permission) => boolean): Html {
  if (list.length === 0) {
    return html`<p class="calm"><span class="status status-succeeded">all clear</span> Nothing needs your attention.</p>`
  }
  return html`<section aria-labelledby="attention-title"><h2 id="attention-title">Needs attention</h2><ul class="attention">${list.map(
    ({ kind, count: n }) => {
      const { to, text, isUrgent } = ATTENTION[kind]
      const content = html`<strong>${count(n)}</strong> ${text(n)}`
      const href = targetOf(to, may)
      return html`<li class="${isUrgent ? 'urgent' : ''}">${href === undefined ? content : html`<a href="${href}">${content}</a>`}</li>`
    },
  )}</ul></section>`
}

/** Undefined if the person may not open the page. */
function targetOf(to: Section | string, may: (permission: Permission) => boolean): string | undefined {
  if (!isSection(to)) return to
  return may(SECTIONS[to].needs) ? pathOf(to) : undefined
}

function isSection(name: string): name is Section {
  return Object.hasOwn(SECTIONS, name)
}

function tiles({ tasks, oldest_waiting_at, workers }: OverviewView, now: number): Html {
  const plus = (n: number) => `${count(n)}${tasks.more && n >= 10_000 ? '+' : ''}`
  const tasksTile = (label: string, n: number, status: string) =>
    tile(label, html`<a href="${link('/console/tasks', { status })}">${plus(n)}</a>`)
  return html`<dl class="tiles">
${tasksTile('Queued', tasks.queued, 'queued')}
${tile('Oldest waiting', oldest_waiting_at === null ? html`<span class="soft">none</span>` : elapsed(oldest_waiting_at, now))}
${tasksTile('Leased', tasks.leased, 'leased')}
${tasksTile('Running', tasks.running, 'running')}
${tasksTile('Pending approval', tasks.pending_approval, 'pending_approval')}
${tasksTile('Input required', tasks.input_required, 'input_required')}
${tasksTile('Succeeded', tasks.succeeded, 'succeeded')}
${tasksTile('Failed', tasks.failed, 'failed')}
${tasksTile('Canceled', tasks.canceled, 'canceled')}
${tile('Live workers', html`<a href="/console/workers">${count(workers.busy + workers.idle)}</a> <span class="soft">${count(workers.busy)} busy${workers.offline > 0 && `, ${count(workers.offline)} offline`}</span>`)}
</dl>`
}

function tile(label: string, value: Content): Html {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`
}

const FAILING = [
  { label: 'Type' },
  { label: 'Failed', kind: 'number' },
  { label: 'Last error', kind: 'wide' },
  { label: 'When', kind: 'tight' },
] as const

function failing(types: readonly FailingType[], now: number): Html {
  if (types.length === 0) return empty('No task failed in the last day.', 'Types with failures appear here.')
  return table(
    'Failing types',
    FAILING,
    types.map(({ type, failed, last_task_id, last_error, last_failed_at }) =>
      tableRow(type, FAILING, [
        html`<a href="${link('/console/tasks', { status: 'failed', type })}">${line(type, 60)}</a>`,
        count(failed),
        html`<a href="${itemPath('tasks', last_task_id)}">${line(last_error, 160)}</a>`,
        time(last_failed_at, now),
      ]),
    ),
  )
}

const UNSERVED = [{ label: 'Type' }, { label: 'Open tasks', kind: 'number' }] as const

function unserved(types: readonly UnservedType[]): Html {
  if (types.length === 0) {
    return empty('Every waiting task has a worker.', 'Types that no live worker accepts appear here.')
  }
  return html`${table(
    'Types without a live worker',
    UNSERVED,
    types.map(({ type, open_tasks }) =>
      tableRow(type, UNSERVED, [
        html`<a href="${link('/console/tasks', { status: 'queued', type })}">${line(type, 60)}</a>`,
        count(open_tasks),
      ]),
    ),
  )}<p class="hint">Start a worker that accepts these types, or check their spelling. See <a href="/console/workers">the workers</a>.</p>`
}
