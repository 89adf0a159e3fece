import { z } from 'zod'
import { checkRole } from '../../core/policy.ts'
import { type Caller, PRINCIPAL_KINDS } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../engine.ts'
import { parse, text } from '../input.ts'
import type { TaskView } from '../shapes.ts'
import { taskView } from '../view.ts'
import { askedPrincipal } from './obligations.ts'
import { pageLimit } from './paging.ts'

export const activeTasksInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  type: text(255).optional(),
  /** Only those done for this agent. */
  principal_ai: text(255).optional(),
  limit: pageLimit,
})

const PAGE = 200
/** Obligations that one call looks at. */
const MAX_SCANNED = 2000

/** The tasks that are not over yet and that the principal owns or that are done for it, oldest first. */
export async function activeTasks(
  engine: Engine,
  caller: Caller,
  input: unknown,
): Promise<{ tasks: TaskView[] }> {
  checkRole(caller, 'list')
  const asked = parse(activeTasksInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const { reads } = engine.store
  const tasks: TaskView[] = []
  let after = 0
  for (let scanned = 0; scanned < MAX_SCANNED && tasks.length < asked.limit; scanned += PAGE) {
    const owed = await engine.reading(() => reads.obligations(tenant, principal, after, PAGE))
    const ids = owed.flatMap(({ receipt_type, task_id }) =>
      receipt_type === 'task.assigned' && task_id !== null ? [task_id] : [],
    )
    const records = await engine.reading(() => reads.tasks(tenant, ids))
    const fitting = records.filter(
      ({ task, spec }) =>
        !isTerminal(task.status) &&
        (asked.type === undefined || spec.type === asked.type) &&
        (asked.principal_ai === undefined || task.principal_ai === asked.principal_ai),
    )
    fitting.sort((a, b) => a.task.seq - b.task.seq)
    tasks.push(...fitting.map((record) => taskView(record)))
    if (owed.length < PAGE) break
    after = owed.at(-1)?.seq ?? after
  }
  return { tasks: tasks.slice(0, asked.limit) }
}
