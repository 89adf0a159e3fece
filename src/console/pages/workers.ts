import { Fault } from '../../core/errors.ts'
import { listTasks } from '../../features/tasks/task-search.ts'
import { drainWorker, listWorkers } from '../../features/workers/operations.ts'
import { WORKER_STATES, type WorkerView } from '../../features/workers/shape.ts'
import { type Html, html } from '../../util/html.ts'
import {
  command,
  count,
  empty,
  heading,
  line,
  notice,
  pager,
  table,
  tableRow,
  tabs,
  time,
} from '../components.ts'
import { itemPath, link, textIn } from '../fields.ts'
import { action, page, type Reply, redirect, type Visit } from '../visit.ts'
import { typeChips, workerPage, workerState } from './worker.ts'

const LIST = '/console/workers'
const PAGE_SIZE = 100
/** Leases on the page of a worker. */
const MAX_LEASES = 100
/** Claims and heartbeats of workers are no events. */
const POLL_SECONDS = 5

export const workerRoutes = [
  page('/workers', showWorkers),
  page('/workers/{worker_id}', showWorker),
  action('/workers/{worker_id}/drain', async ({ call, params: { worker_id = '' }, form: sent }) => {
    const drain = sent.get('drain') !== 'false'
    await call(drainWorker, { worker_id, drain })
    return redirect(itemPath('workers', worker_id), { notice: drain ? 'drained' : 'undrained' })
  }),
]

async function showWorkers({ call, query, now }: Visit): Promise<Reply> {
  const [state, cursor] = [textIn(query, 'state'), textIn(query, 'cursor')]
  const { workers, next_cursor } = await call(listWorkers, { state, cursor, limit: PAGE_SIZE })
  return {
    title: 'Workers',
    section: 'workers',
    poll: POLL_SECONDS,
    body: html`${heading('Workers')}
${notice(query)}
${tabs(
  'State',
  [undefined, ...WORKER_STATES].map((value) => ({
    label: value ?? 'all',
    href: link(LIST, { state: value }),
    current: value === state,
  })),
)}
<div data-live="list">${workers.length === 0 ? none(state, next_cursor) : workerTable(workers, now)}</div>
${pager(
  cursor !== undefined && html`<a class="button" href="${link(LIST, { state })}">First page</a>`,
  next_cursor !== null &&
    html`<a class="button" href="${link(LIST, { state, cursor: next_cursor })}">Next page</a>`,
)}`,
  }
}

const COLUMNS = [
  { label: 'Worker' },
  { label: 'State', kind: 'tight' },
  { label: 'Leases', kind: 'number' },
  { label: 'Types', kind: 'wide', isExtra: true },
  { label: 'Version', isExtra: true },
  { label: 'Completed', kind: 'number', isExtra: true },
  { label: 'Failed', kind: 'number', isExtra: true },
  { label: 'Last seen', kind: 'tight' },
] as const

function workerTable(workers: readonly WorkerView[], now: number): Html {
  const row = (worker: WorkerView) =>
    tableRow(worker.worker_id, COLUMNS, [
      html`<a href="${itemPath('workers', worker.worker_id)}">${line(worker.worker_id, 80)}</a>`,
      workerState(worker),
      count(worker.leased + worker.running),
      typeChips(worker, 4),
      worker.version === null ? '' : line(worker.version, 40),
      count(worker.completed),
      count(worker.failed),
      time(worker.last_seen_at, now),
    ])
  return table('Workers', COLUMNS, workers.map(row))
}

function none(state: string | undefined, next: string | null): Html {
  if (next !== null) return empty('No worker of this page is in this state.', 'Continue with Next page.')
  if (state !== undefined)
    return empty(`No worker is ${state}.`, html`<a href="${LIST}">Show all workers</a>`)
  return empty(
    'No worker was seen in the last day.',
    html`A worker claims tasks and runs them. Start one that sends each payload back:${command('npx asyncgate worker --tasks echo')}To write one, see docs/workers.md.`,
  )
}

async function showWorker(visit: Visit): Promise<Reply> {
  const { call, params, may } = visit
  const { worker_id = '' } = params
  const [{ workers }, held] = await Promise.all([
    call(listWorkers, { worker_id, limit: 1 }),
    may('list') ? call(listTasks, { query: heldBy(worker_id), limit: MAX_LEASES }) : { tasks: [] },
  ])
  const [worker] = workers
  if (worker === undefined) {
    throw new Fault(
      'WORKER_NOT_FOUND',
      { worker_id },
      `The worker ${worker_id} was not seen in the last day.`,
    )
  }
  return { ...workerPage(worker, held.tasks, visit), poll: POLL_SECONDS }
}

/** A query in the search language. */
function heldBy(worker_id: string): string {
  return `status:leased,running worker:${quoted(worker_id)}`
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}
