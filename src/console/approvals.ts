import { z } from 'zod'
import { Fault, invalid } from '../core/errors.ts'
import { approvalShape } from '../features/questions/approvals.ts'
import { type Attempt, attempting } from './attempt.ts'
import { jsonIn, link, numberIn, place, textIn } from './fields.ts'
import { approvalPage } from './pages/approval.ts'
import { approvalsPage } from './pages/approvals.ts'
import { markOf } from './payload-mark.ts'
import { type ConsoleRoute, type Reply, redirect, type Visit } from './reply.ts'

const PAGE = 50

const listShape = z.object({ approvals: z.array(approvalShape), next_cursor: z.string().nullable() })
const decidedShape = z.object({ rule_id: z.string().optional(), is_duplicate: z.boolean() })

export const approvalRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/approvals',
    async handle({ desk, query }) {
      const state = textIn(query, 'state') ?? 'open'
      const type = textIn(query, 'type')
      const cursor = textIn(query, 'cursor')
      const found = await desk.call('list_approvals', { state, type, cursor, limit: PAGE }, listShape)
      return approvalsPage({ ...found, state, type, cursor, query, now: desk.now })
    },
  },
  { method: 'GET', path: '/approvals/{task_id}', handle: (visit) => showApproval(visit) },
  {
    method: 'POST',
    path: '/approvals/{task_id}/approve',
    handle: (visit) =>
      attempting(visit, showApproval, ({ desk, params: { task_id = '' }, form }) =>
        deciding(task_id, form, async (n) => {
          const input = {
            task_id,
            n,
            content_hash: textIn(form, 'content_hash'),
            comment: textIn(form, 'comment'),
            payload: editedPayload(form),
            remember_until: rememberUntil(form),
          }
          const { rule_id, is_duplicate } = await desk.call('approve', input, decidedShape)
          if (is_duplicate) return 'decided'
          return rule_id === undefined ? 'approved' : 'remembered'
        }),
      ),
  },
  {
    method: 'POST',
    path: '/approvals/{task_id}/deny',
    handle: (visit) =>
      attempting(visit, showApproval, ({ desk, params: { task_id = '' }, form }) =>
        deciding(task_id, form, async (n) => {
          const input = {
            task_id,
            n,
            content_hash: textIn(form, 'content_hash'),
            reason: textIn(form, 'reason'),
          }
          const { is_duplicate } = await desk.call('deny', input, decidedShape)
          return is_duplicate ? 'decided' : 'denied'
        }),
      ),
  },
]

async function showApproval(
  { desk, params: { task_id = '' }, query, token }: Visit,
  attempt?: Attempt,
): Promise<Reply> {
  const n = numberIn(attempt?.form ?? query, 'n')
  const approval = await desk.call('get_approval', { task_id, n }, approvalShape)
  return approvalPage({ approval, query, token, now: desk.now, ...(attempt && { attempt }) })
}

/** Whoever comes second is shown who was first, and that is no error. */
async function deciding(
  task_id: string,
  form: URLSearchParams,
  decide: (n: number | undefined) => Promise<string>,
): Promise<Reply> {
  const n = numberIn(form, 'n')
  const show = (notice: string) => redirect(link(place('approvals', task_id), { n, notice }))
  try {
    return show(await decide(n))
  } catch (error) {
    if (error instanceof Fault && error.code === 'ALREADY_DECIDED') return show('decided')
    throw error
  }
}

/** What was typed in its place; undefined if that is nothing. */
function editedPayload(form: URLSearchParams) {
  const text = textIn(form, 'payload')
  return text === undefined || markOf(text) === form.get('payload_mark') ? undefined : jsonIn(form, 'payload')
}

/** To the end of that day. */
function rememberUntil(form: URLSearchParams): string | undefined {
  const date = textIn(form, 'remember_until')
  if (date === undefined) return undefined
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw invalid('remember_until', 'is not a date like 2026-12-31')
  return `${date}T23:59:59.999Z`
}
