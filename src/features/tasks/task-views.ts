import { isInterrupted } from '../../core/cancellation.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Services } from '../services.ts'
import type { TaskView } from '../shapes.ts'
import { taskView } from '../view.ts'

/** The public shape of a task, with what is kept beside it and where people find it. */
export async function viewOf(engine: Services, record: TaskRecord): Promise<TaskView> {
  const { tenant, task_id, status } = record.task
  const cancellations = isInterrupted(record.task)
    ? await engine.cancellations.shownFor(tenant, [record])
    : undefined
  return {
    ...taskView(record, cancellations?.get(task_id)),
    ...engine.links.console(task_id, status),
    ...(status === 'pending_approval' && { hint: engine.links.approval(task_id) }),
  }
}

export async function viewsOf(
  engine: Services,
  tenant: number,
  records: readonly TaskRecord[],
): Promise<TaskView[]> {
  const cancellations = await engine.cancellations.shownFor(tenant, records)
  return inTurns(records, (record) => taskView(record, cancellations.get(record.task.task_id)))
}

/** Text that is taken apart in one turn of the event loop. */
const TURN_BYTES = 1024 * 1024

/** A view of each, with turns for others between those of large tasks. */
export async function inTurns<View>(
  records: readonly TaskRecord[],
  view: (record: TaskRecord) => View,
): Promise<View[]> {
  const views: View[] = []
  let length = 0
  for (const record of records) {
    views.push(view(record))
    length += record.spec.input.length
    if (length < TURN_BYTES) continue
    await nextTurn()
    length = 0
  }
  return views
}
