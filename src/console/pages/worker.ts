import type { TaskView } from '../../features/tasks/shape.ts'
import type { WorkerView } from '../../features/workers/shape.ts'
import { type Content, type Html, html } from '../../util/html.ts'
import {
  bothTimes,
  count,
  elapsed,
  empty,
  facts,
  form,
  heading,
  hidden,
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
import { titleOf } from './task-title.ts'

/** One worker with the tasks that it holds. */
export function workerPage(worker: WorkerView, held: readonly TaskView[], visit: Visit): Page {
  const { worker_id, config } = worker
  const { query, now } = visit
  const leases = worker.leased + worker.running
  return {
    title: worker_id,
    section: 'workers',
    body: html`<p class="crumbs"><a href="/console/workers">Workers</a></p>
<div data-live="worker">
${heading(line(worker_id, 120), workerState(worker))}
${notice(query)}
${drainForm(worker, visit)}
</div>
<section aria-labelledby="h-leases" data-live="list"><h2 id="h-leases">Leases</h2>
${held.length === 0 ? empty('It holds no task.', 'The tasks that it claims appear here.') : leaseTable(held, now)}
${leases > held.length && held.length > 0 && html`<p class="soft">It holds ${count(leases)} tasks. The newest ${held.length} are shown.</p>`}
</section>
<div class="columns">
<section data-live="facts" aria-labelledby="h-facts"><h2 id="h-facts">Facts</h2>${factsOf(worker, now)}</section>
${config !== undefined && html`<section data-live="config" aria-labelledby="h-config"><h2 id="h-config">Configuration</h2>${jsonBlock(config, 'Configuration')}</section>`}
</div>`,
  }
}

export function workerState({ state, drain }: WorkerView): Html {
  return html`<span><span class="status worker-${state}">${state}</span>${drain && html` <span class="status status-warn">draining</span>`}</span>`
}

/** The types that a worker accepts, at most `max` of them. */
export function typeChips({ accept_types }: WorkerView, max: number): Content {
  if (accept_types === null) return html`<span class="soft">any</span>`
  const rest = accept_types.length - max
  return [
    accept_types.slice(0, max).map((type) => html`<span class="chip">${line(type, 60)}</span> `),
    rest > 0 && html`<span class="soft">and ${count(rest)} more</span>`,
  ]
}

function drainForm({ worker_id, drain }: WorkerView, { may, token }: Visit): Content {
  if (!may('operate')) return drain && html`<p class="soft">It finishes its tasks and receives no more.</p>`
  const path = `${itemPath('workers', worker_id)}/drain`
  return drain
    ? form(
        token,
        path,
        html`${hidden({ drain: 'false' })}<button class="button">Undo drain</button><span class="soft">It finishes its tasks and receives no more.</span>`,
        'inline',
      )
    : form(
        token,
        path,
        html`<button class="button">Drain</button><span class="soft">It then finishes its tasks and receives no more.</span>`,
        'inline',
      )
}

function factsOf(worker: WorkerView, now: number): Html {
  const { principal: by, capabilities, worker_type, instance_id, version } = worker
  return facts([
    { name: 'Last seen', value: bothTimes(worker.last_seen_at, now) },
    { name: 'First seen', value: bothTimes(worker.first_seen_at, now) },
    { name: 'Calls as', value: principal(by) },
    version !== null && { name: 'Version', value: line(version, 64) },
    worker_type !== null && { name: 'Kind', value: line(worker_type, 64) },
    instance_id !== null && { name: 'Process', value: line(instance_id, 80) },
    { name: 'Types', value: typeChips(worker, 50) },
    capabilities.length > 0 && {
      name: 'Capabilities',
      value: capabilities.map((name) => html`<span class="chip">${line(name, 60)}</span> `),
    },
    { name: 'Claimed', value: count(worker.claimed) },
    { name: 'Completed', value: count(worker.completed) },
    { name: 'Failed', value: count(worker.failed) },
  ])
}

const COLUMNS = [
  { label: 'Task', kind: 'wide' },
  { label: 'Status', kind: 'tight' },
  { label: 'Agent', isExtra: true },
  { label: 'Running for', kind: 'tight' },
  { label: 'Progress', isExtra: true },
  { label: 'Lease expires', kind: 'tight' },
] as const

function leaseTable(held: readonly TaskView[], now: number): Html {
  const row = (task: TaskView) =>
    tableRow(task.task_id, COLUMNS, [
      html`<a href="${itemPath('tasks', task.task_id)}">${line(titleOf(task), 100)}</a>${task.summary !== null && html`<span class="row-sub">${line(task.summary, 100)}</span>`}`,
      status(task.status),
      principal(task.created_by),
      task.started_at !== null && elapsed(task.started_at, now),
      progressWords(task),
      task.lease && time(task.lease.expires_at, now),
    ])
  return table('Leases', COLUMNS, held.map(row))
}

function progressWords({ progress }: TaskView): Content {
  const { percent, message } = progress ?? {}
  const words = [
    typeof percent === 'number' ? `${Math.round(percent)} %` : '',
    typeof message === 'string' ? message : '',
  ]
  return line(words.filter(Boolean).join(' '), 80)
}
