import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { type Caller, PRINCIPAL_KINDS } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import { parse, text } from '../input.ts'
import { pageLimit } from '../paging.ts'
import { askedPrincipal } from '../principal-input.ts'
import { findOwedTasks } from '../receipts/search.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { taskView } from '../view.ts'
import { inTurns } from './task-views.ts'

export const activeTasksInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  type: text(255).optional(),
  /** Only those done for this agent. */
  principal_ai: text(255).optional(),
  limit: pageLimit,
  cursor: text(512).optional().meta({ description: 'next_cursor of the page before' }),
})

export interface ActivePage {
  readonly tasks: readonly TaskView[]
  /** Null at the end. A page may hold fewer than `limit` and still go on. */
  readonly next_cursor: string | null
}

/** The tasks that are not over yet and that the principal owns or that are done for it, oldest first. */
export async function activeTasks(engine: Services, caller: Caller, input: unknown): Promise<ActivePage> {
  checkRole(caller, 'list')
  const asked = parse(activeTasksInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const principal = askedPrincipal(caller, asked)
  const { type, principal_ai, limit, cursor } = asked
  const scope = { tenant, query: { list: 'active', principal, type, principal_ai } }
  const from = cursor === undefined ? 0 : await engine.cursors.read(scope, cursor)
  const fits = (line: TaskLine) =>
    !isTerminal(line.status) &&
    (type === undefined || line.type === type) &&
    (principal_ai === undefined || line.principal_ai === principal_ai)
  const found = await findOwedTasks(engine, tenant, principal, { from, limit, fits })
  const { rows, covered } = await readRecords(engine, tenant, found.rows)
  const next = covered < found.rows.length ? (found.rows[covered - 1]?.seq ?? null) : found.next
  return {
    tasks: await inTurns(
      rows.filter(({ task }) => !isTerminal(task.status)),
      (record) => taskView(record),
    ),
    next_cursor: next === null ? null : await engine.cursors.write(scope, next),
  }
}
