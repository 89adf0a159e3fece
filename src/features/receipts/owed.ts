import type { PrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TaskLine } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'

/** Obligations that one search looks at before it hands back what it has. */
const MAX_SCANNED = 2000
const PAGE = 200

interface OwedQuery {
  /** A seq. The assignment of a task has the seq of the task. */
  readonly after: number
  readonly limit: number
  fits(line: TaskLine): boolean
}

interface Owed {
  readonly lines: readonly TaskLine[]
  /** Where to go on; null at the end. */
  readonly next: number | null
}

/** The oldest tasks that are owed to a principal. A schedule is owed too, but the task that asked for it is done. */
export async function findOwed(
  engine: Engine,
  tenant: number,
  principal: PrincipalKey,
  { after, limit, fits }: OwedQuery,
): Promise<Owed> {
  const { reads } = engine.store
  const lines: TaskLine[] = []
  let position = after
  for (let scanned = 0; scanned < MAX_SCANNED; scanned += PAGE) {
    if (scanned > 0) await nextTurn()
    const owed = await engine.reading(() => reads.obligationLines(tenant, principal, position, PAGE))
    const ids = owed.flatMap(({ receipt_type, task_id }) =>
      receipt_type === 'task.assigned' && task_id !== null ? [task_id] : [],
    )
    const found = await engine.reading(() => reads.lines(tenant, ids))
    for (const line of found.sort((a, b) => a.seq - b.seq)) {
      if (!fits(line)) continue
      if (lines.length === limit) return { lines, next: position }
      lines.push(line)
      position = line.seq
    }
    if (owed.length < PAGE) return { lines, next: null }
    position = owed.at(-1)?.seq ?? position
  }
  return { lines, next: position }
}
