import { isInterrupted } from '../core/cancellation.ts'
import type { TaskRecord } from '../store/reads.ts'
import type { Engine } from './engine.ts'
import type { TaskView } from './shapes.ts'
import { taskView } from './view.ts'

/** The public shape of a task, with what is kept beside it. */
export async function viewOf(engine: Engine, record: TaskRecord): Promise<TaskView> {
  if (!isInterrupted(record.task)) return taskView(record)
  const { tenant, task_id } = record.task
  const cancellations = await engine.cancellations.shownFor(tenant, [record])
  return taskView(record, cancellations.get(task_id))
}

export async function viewsOf(
  engine: Engine,
  tenant: number,
  records: readonly TaskRecord[],
): Promise<TaskView[]> {
  const cancellations = await engine.cancellations.shownFor(tenant, records)
  return records.map((record) => taskView(record, cancellations.get(record.task.task_id)))
}
