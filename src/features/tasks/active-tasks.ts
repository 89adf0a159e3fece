import { z } from 'zod'
import { checkPermission } from '../../core/authorization.ts'
import { type Caller, PRINCIPAL_KINDS } from '../../core/principal.ts'
import { isTerminal } from '../../core/transitions.ts'
import type { Engine } from '../../engine/engine.ts'
import { readRecords } from '../../engine/portions.ts'
import type { TaskLine } from '../../store/reads.ts'
import { askedPrincipal, cursor, pageLimit, parse, text } from '../input.ts'
import { findOwedTasks } from '../receipts/list-receipts.ts'
import type { TaskView } from './shape.ts'
import { inTurns, taskView } from './view.ts'

const activeTasksInput = z.strictObject({
  principal_kind: z.enum(PRINCIPAL_KINDS).optional(),
  principal_id: text(255).optional(),
  type: text(255).optional(),
  principal_ai: text(255).optional(),
  limit: pageLimit,
  cursor,
})

export interface ActivePage {
  readonly tasks: readonly TaskView[]
  /** Null on the last page. A page can hold fewer than `limit` tasks and still have a next one. */
  readonly next_cursor: string | null
}

/** The open tasks that the principal owns or that are done on its behalf, oldest first. */
export async function activeTasks(engine: Engine, caller: Caller, input: unknown): Promise<ActivePage> {
  checkPermission(caller, 'list')
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
