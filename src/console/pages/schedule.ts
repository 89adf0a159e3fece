import { randomUUID } from 'node:crypto'
import type { ScheduleDetail, ScheduleView } from '../../features/schedules/shape.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  bothTimes,
  empty,
  facts,
  form,
  heading,
  hidden,
  identifier,
  jsonBlock,
  line,
  notice,
  principal,
  status,
  table,
  tableRow,
  time,
} from '../components.ts'
import { itemPath } from '../fields.ts'
import type { Page, Visit } from '../visit.ts'

/** One schedule with its next runs and the tasks of its last ones. */
export function schedulePage(schedule: ScheduleDetail, runs: readonly TaskView[], visit: Visit): Page {
  const { query, now } = visit
  return {
    title: schedule.name,
    section: 'schedules',
    body: html`<p class="crumbs"><a href="/console/schedules">Schedules</a></p>
<div data-live="schedule">
${heading(line(schedule.name, 120), scheduleState(schedule))}
<p class="lead">${line(sentence(schedule.when), 300)}</p>
${notice(query)}
</div>
${controls(schedule, visit)}
<div class="columns">
<section aria-labelledby="h-next" data-live="next"><h2 id="h-next">Next runs</h2>${nextRuns(schedule, now)}</section>
<section aria-labelledby="h-facts" data-live="facts"><h2 id="h-facts">Facts</h2>${factsOf(schedule, now)}</section>
</div>
<section aria-labelledby="h-runs" data-live="list"><h2 id="h-runs">Last runs</h2>
${runs.length === 0 ? empty('No run has created a task.', 'The tasks of its runs appear here.') : runTable(runs, now)}
</section>
<section aria-labelledby="h-template"><h2 id="h-template">Task of each run</h2>${jsonBlock(schedule.task_template, 'Task of each run')}</section>`,
  }
}

export function scheduleState({ status: state }: ScheduleView): Html {
  return html`<span class="status schedule-${state}">${state}</span>`
}

export function scheduleError({ last_error }: ScheduleView): Content {
  return last_error !== null && html` <span class="status status-warn">${line(last_error, 60)}</span>`
}

/** The key of a run is rendered once, outside of the parts that are updated: sending the form twice runs it once. */
function controls({ schedule_id, status: state }: ScheduleView, { may, token }: Visit): Content {
  if (!may('create')) return false
  const path = itemPath('schedules', schedule_id)
  return html`<div class="actions">${form(
    token,
    `${path}/run`,
    html`${hidden({ key: randomUUID() })}<button class="button primary" data-key="r">Run now</button>`,
    'inline',
  )}<span data-live="pause">${
    state === 'paused'
      ? form(
          token,
          `${path}/pause`,
          html`${hidden({ pause: 'false' })}<button class="button">Resume</button>`,
        )
      : form(token, `${path}/pause`, html`<button class="button">Pause</button>`, 'inline')
  }</span></div>`
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function nextRuns({ next_runs, status: state, timezone }: ScheduleDetail, now: number): Html {
  if (next_runs.length === 0) {
    return state === 'paused'
      ? empty('The schedule is paused.', 'It creates no tasks until it is resumed.')
      : empty('There are no further runs.', 'The expression matches no later time.')
  }
  return html`<ol class="next-runs">${next_runs.map(
    (at) => html`<li>${time(at, now)} <span>${inZone(at, timezone)}</span></li>`,
  )}</ol>`
}

/** A time in the zone of the schedule, such as `Thu, 19 Nov 2026, 02:30 Europe/Berlin`. */
function inZone(iso: string, timeZone: string): string {
  const words = new Intl.DateTimeFormat('en-GB', {
    ...{
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
    },
    timeZone,
  }).format(new Date(iso))
  return `${words} ${timeZone}`
}

const MISFIRES = {
  skip: 'are skipped',
  catch_up_one: 'are made up for by one run',
  catch_up_all: 'are all made up for',
} as const

function factsOf(schedule: ScheduleDetail, now: number): Html {
  const { last_run_at, misfire_policy, jitter_seconds, cron_expr } = schedule
  return facts([
    { name: 'Creates', value: line(schedule.task_type, 120) },
    { name: 'Owner', value: principal(schedule.created_by) },
    cron_expr !== undefined && {
      name: 'Expression',
      value: html`<code>${line(cron_expr, 100)}</code> ${schedule.timezone}`,
    },
    {
      name: 'Last run',
      value: [last_run_at === null ? 'never' : bothTimes(last_run_at, now), scheduleError(schedule)],
    },
    { name: 'Missed runs', value: MISFIRES[misfire_policy] },
    jitter_seconds > 0 && { name: 'Delay', value: `random, up to ${jitter_seconds} s` },
    { name: 'Created', value: bothTimes(schedule.created_at, now) },
    { name: 'Schedule', value: identifier(schedule.schedule_id) },
  ])
}

const COLUMNS = [
  { label: 'Task', kind: 'wide' },
  { label: 'Status', kind: 'tight' },
  { label: 'Created', kind: 'tight' },
  { label: 'Changed', kind: 'tight', isExtra: true },
] as const

function runTable(runs: readonly TaskView[], now: number): Html {
  const row = (task: TaskView) =>
    tableRow(task.task_id, COLUMNS, [
      html`<a href="${itemPath('tasks', task.task_id)}">${line(task.summary ?? task.type, 100)}</a>`,
      status(task.status),
      time(task.created_at, now),
      time(task.updated_at, now),
    ])
  return table('Last runs', COLUMNS, runs.map(row))
}
