import { pauseSchedule, runScheduleNow } from '../../features/schedules/control-schedule.ts'
import { getSchedule, listSchedules } from '../../features/schedules/list-schedules.ts'
import type { ScheduleView } from '../../features/schedules/shape.ts'
import { listTasks } from '../../features/tasks/task-search.ts'
import { type Html, html } from '../../util/html.ts'
import {
  command,
  empty,
  heading,
  line,
  notice,
  pager,
  principal,
  table,
  tableRow,
  time,
} from '../components.ts'
import { itemPath, link, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { scheduleError, schedulePage, scheduleState } from './schedule.ts'

const LIST = '/console/schedules'
const PAGE_SIZE = 50
const RUNS = 20
/** The watch of the server changes without events of tasks. */
const POLL_SECONDS = 10

export const scheduleRoutes = [
  page('/schedules', showSchedules),
  page('/schedules/{schedule_id}', showSchedule),
  action('/schedules/{schedule_id}/run', async ({ call, params: { schedule_id }, form: sent }) => {
    const { task_id } = await call(runScheduleNow, { schedule_id, idempotency_key: textIn(sent, 'key') })
    return redirect(itemPath('tasks', task_id), { notice: 'ran' })
  }),
  action('/schedules/{schedule_id}/pause', async ({ call, params: { schedule_id = '' }, form: sent }) => {
    const pause = sent.get('pause') !== 'false'
    await call(pauseSchedule, { schedule_id, pause })
    return redirect(itemPath('schedules', schedule_id), { notice: pause ? 'pausing' : 'resuming' })
  }),
]

async function showSchedules({ call, query, now }: Visit): Promise<Reply> {
  const [created_by, cursor] = [textIn(query, 'owner'), textIn(query, 'cursor')]
  const { schedules, next_cursor } = await call(listSchedules, { created_by, cursor, limit: PAGE_SIZE })
  return {
    title: 'Schedules',
    section: 'schedules',
    follows: 'tasks',
    poll: POLL_SECONDS,
    body: html`${heading('Schedules')}
${notice(query)}
${filterForm(created_by)}
<div data-live="list">${schedules.length === 0 ? none(created_by, next_cursor) : scheduleTable(schedules, now)}</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, { owner: created_by })}">First page</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { owner: created_by, cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

function filterForm(owner: string | undefined): Html {
  return html`<form class="inline" method="get" action="${LIST}" role="search" aria-label="Filter schedules"><label class="quiet" for="f-owner">Owner</label><input id="f-owner" name="owner" value="${owner ?? ''}" placeholder="Owner, such as agent:planner" autocomplete="off" spellcheck="false"><button class="button">Filter</button>${owner !== undefined && html`<a class="link" href="${LIST}">Clear</a>`}</form>`
}

const COLUMNS = [
  { label: 'Schedule' },
  { label: 'Runs', kind: 'wide', isExtra: true },
  { label: 'State', kind: 'tight' },
  { label: 'Next run', kind: 'tight' },
  { label: 'Creates', isExtra: true },
  { label: 'Owner', isExtra: true },
  { label: 'Last run', kind: 'tight', isExtra: true },
] as const

function scheduleTable(schedules: readonly ScheduleView[], now: number): Html {
  const row = (schedule: ScheduleView) =>
    tableRow(schedule.schedule_id, COLUMNS, [
      html`<a href="${itemPath('schedules', schedule.schedule_id)}">${line(schedule.name, 80)}</a>`,
      line(schedule.when, 160),
      scheduleState(schedule),
      schedule.next_run_at === null ? html`<span class="soft">none</span>` : time(schedule.next_run_at, now),
      line(schedule.task_type, 60),
      principal(schedule.created_by),
      [
        schedule.last_run_at === null
          ? html`<span class="soft">never</span>`
          : time(schedule.last_run_at, now),
        scheduleError(schedule),
      ],
    ])
  return table('Schedules', COLUMNS, schedules.map(row))
}

function none(owner: string | undefined, next: string | null): Html {
  if (next !== null) return empty('No schedule of this page matches.', 'Continue with Next page.')
  if (owner !== undefined)
    return empty('No schedule has this owner.', html`<a href="${LIST}">Show all schedules</a>`)
  return empty(
    'There are no schedules.',
    html`A schedule creates tasks at an interval or by a cron expression. Start the process that fires the runs, and create a schedule:${command(
      `npx asyncgate scheduler
npx asyncgate schedules create hourly --as agent:me --type echo --cron '0 * * * *'`,
    )}`,
  )
}

async function showSchedule(visit: Visit): Promise<Reply> {
  const { call, params } = visit
  const { schedule_id = '' } = params
  const schedule = await call(getSchedule, { schedule_id })
  const { kind, id } = schedule.created_by
  const { tasks } = await call(listTasks, {
    labels: { schedule_id },
    created_by: `${kind}:${id}`,
    limit: RUNS,
  })
  return { ...schedulePage(schedule, tasks, visit), follows: 'tasks', poll: POLL_SECONDS }
}
