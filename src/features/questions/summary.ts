import { z } from 'zod'
import { isObject } from '../../util/guards.ts'
import { nextCursor } from '../input.ts'
import { age, line, summaryView } from '../summary.ts'
import { ageShape } from '../tasks/summary.ts'

const MAX_TITLE = 120

/** The part of an approval that a row shows. */
interface Approval {
  readonly task_id: string
  readonly n: number
  readonly state: string
  readonly asked_at: string
  readonly request: unknown
  readonly task: {
    readonly type: string
    readonly summary: string | null
    readonly owner: { readonly kind: string; readonly id: string }
  }
}

const rowShape = z.object({
  task_id: z.string().describe('The task to be approved'),
  n: z.int().describe('The number of the question within its task'),
  state: z.string().describe('open: not decided yet'),
  age: ageShape.describe('Time since it was asked, such as 3m'),
  type: z.string().describe('Type of the task'),
  owner: z.string().describe('Who created the task, as kind:id'),
  title: z.string().describe('What needs approval'),
})

export const approvalListSummary = summaryView({
  shape: z.object({ approvals: z.array(rowShape), next_cursor: nextCursor }),
  defaults: { limit: 20 },
  of: (page: { approvals: readonly Approval[]; next_cursor: string | null }, now) => ({
    approvals: page.approvals.map(({ task, request, ...approval }) => ({
      task_id: approval.task_id,
      n: approval.n,
      state: approval.state,
      age: age(approval.asked_at, now),
      type: task.type,
      owner: `${task.owner.kind}:${task.owner.id}`,
      title: line(titleOf(request) ?? task.summary ?? '', MAX_TITLE),
    })),
    next_cursor: page.next_cursor,
  }),
})

function titleOf(request: unknown): string | undefined {
  return isObject(request) && typeof request.title === 'string' ? request.title : undefined
}
