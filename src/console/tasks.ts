import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { receiptShape } from '../features/receipts/get-receipt.ts'
import { statusShape, taskCountsShape, taskShape } from '../features/tasks/shape.ts'
import { type Attempt, attempting } from './attempt.ts'
import type { Desk } from './desk.ts'
import { jsonIn, jsonOrTextIn, link, numberIn, place, textIn } from './fields.ts'
import { confirmCancelPage } from './pages/cancel.ts'
import { taskPage } from './pages/task.ts'
import { tasksPage } from './pages/tasks.ts'
import { type ConsoleRoute, type Reply, redirect, type Visit } from './reply.ts'
import { filterIn, meant } from './task-filter.ts'

const PAGE = 50

/** Receipts and reports of progress on the page of a task; the newest come first. */
const ON_TASK_PAGE = 50

const listShape = z.object({ tasks: z.array(taskShape), next_cursor: z.string().nullable() })
const receiptsShape = z.object({ receipts: z.array(receiptShape), next_cursor: z.string().nullable() })
const progressShape = z.object({ progress: z.array(z.record(z.string(), z.unknown())) })
const canceledShape = z.object({ count: z.int(), matched: z.int(), skipped: z.int(), more: z.boolean() })

export const taskRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/tasks',
    async handle({ desk, query, token }) {
      const filter = filterIn(query)
      const cursor = textIn(query, 'cursor')
      const { status: _, ...counted } = filter
      const [found, counts] = await Promise.all([
        desk.call('list_tasks', { ...filter, cursor, limit: PAGE }, listShape),
        desk.call('count_tasks', counted, taskCountsShape),
      ])
      return tasksPage({ ...found, counts, filter, cursor, query, token, now: desk.now })
    },
  },
  {
    method: 'POST',
    path: '/tasks/cancel',
    async handle({ desk, form }) {
      const back = filterIn(form)
      const task_ids = form.getAll('task_id')
      if (task_ids.length === 0) return redirect(link('/console/tasks', { ...back, notice: 'none' }))
      const input = { task_ids, reason: textIn(form, 'reason') }
      return redirect(link('/console/tasks', { ...back, ...(await cancel(desk, input)) }))
    },
  },
  {
    method: 'GET',
    path: '/tasks/cancel-all',
    async handle({ desk, query, token }) {
      const filter = filterIn(query)
      const { matched, more } = await desk.call(
        'cancel_tasks',
        { ...meant(filter), dry_run: true },
        canceledShape,
      )
      return confirmCancelPage({ filter, matched, more, token })
    },
  },
  {
    method: 'POST',
    path: '/tasks/cancel-all',
    async handle({ desk, form }) {
      const filter = filterIn(form)
      const input = { ...meant(filter), reason: textIn(form, 'reason') }
      return redirect(link('/console/tasks', { ...filter, ...(await cancel(desk, input)) }))
    },
  },
  {
    method: 'GET',
    path: '/tasks/{task_id}',
    handle: (visit) => showTask(visit),
  },
  {
    method: 'POST',
    path: '/tasks/{task_id}/cancel',
    async handle({ desk, params: { task_id = '' }, form }) {
      const input = { task_id, reason: textIn(form, 'reason') }
      const { ok } = await desk.call('cancel_task', input, z.object({ ok: z.boolean(), status: statusShape }))
      return redirect(link(place('tasks', task_id), { notice: ok ? 'requested' : 'over' }))
    },
  },
  {
    method: 'POST',
    path: '/tasks/{task_id}/retry',
    async handle({ desk, params: { task_id = '' } }) {
      const created = await desk.call('retry_task', { task_id }, z.object({ task_id: z.string() }))
      return redirect(link(place('tasks', created.task_id), { notice: 'retried' }))
    },
  },
  {
    method: 'POST',
    path: '/tasks/{task_id}/answer',
    handle: (visit) =>
      attempting(visit, showTask, async ({ desk, params: { task_id = '' }, form }) => {
        const read = READERS.get(form.get('content_is') ?? '') ?? jsonIn
        const content = read(form, 'content')
        const input = { task_id, n: numberIn(form, 'n'), content }
        await desk.call('answer_question', input, z.looseObject({}))
        return redirect(link(place('tasks', task_id), { notice: 'answered' }))
      }),
  },
]

/** What an answer is, by what its form says. */
const READERS = new Map<string, typeof jsonOrTextIn>([
  ['text', textIn],
  ['either', jsonOrTextIn],
])

async function showTask(
  { desk, params: { task_id = '' }, query, token }: Visit,
  attempt?: Attempt,
): Promise<Reply> {
  const newest = { task_id, order: 'newest', limit: ON_TASK_PAGE }
  const since_receipt_id = textIn(query, 'receipts')
  const [task, { receipts, next_cursor }, { progress }] = await Promise.all([
    desk.call('get_task', { task_id }, taskShape),
    desk.call('list_receipts', { ...newest, since_receipt_id }, receiptsShape),
    desk.call('get_task_progress', newest, progressShape),
  ])
  const view = { task, receipts, olderReceipts: next_cursor, progress: progress.toReversed(), query, token }
  return taskPage({ ...view, now: desk.now, ...(attempt && { attempt }) })
}

/** What is to be said about it. */
async function cancel(desk: Desk, input: object): Promise<{ notice: string; done: number; kept: number }> {
  try {
    const { count, skipped, more } = await desk.call('cancel_tasks', { ...input }, canceledShape)
    return { notice: more ? 'canceled_some' : 'canceled', done: count, kept: skipped }
  } catch (error) {
    if (error instanceof Fault && error.code === 'TASK_NOT_FOUND') return { notice: 'none', done: 0, kept: 0 }
    throw error
  }
}
