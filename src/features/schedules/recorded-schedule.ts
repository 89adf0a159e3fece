import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Plan, planInput } from '../../scheduler/plan/plan.ts'
import type { Child, TaskRecord } from '../../store/reads.ts'
import { payloadOf } from '../questions/view.ts'
import type { Services } from '../services.ts'
import { inputOf } from '../tasks/task-input.ts'

/** The type of the task by which an owner asks for a schedule. */
const CREATE_TYPE = 'schedule.create'

/** What the gate itself has recorded about a schedule. */
export interface RecordedSchedule {
  /** The task that asked for it. */
  readonly asking: TaskRecord
  /** Its schedule.created. */
  readonly opening: Child | undefined
}

/** The task that asked and its receipt never change, so they may be read before a batch. */
export async function recordedSchedule(
  engine: Services,
  tenant: number,
  schedule_id: string,
  absent: Fault = new Fault('SCHEDULE_NOT_FOUND', { schedule_id }),
): Promise<RecordedSchedule> {
  const { reads } = engine.store
  const asking = isUuid(schedule_id) ? await engine.reading(() => reads.task(tenant, schedule_id)) : undefined
  if (asking === undefined) throw absent
  const [opening] = await engine.reading(() =>
    reads.children(tenant, [asking.task.seq], ['schedule.created']),
  )
  return { asking, opening }
}

/** The plan that the owner asked for, as the gate stored it; undefined if the task asked for something else. */
export function planOf({ spec, questions }: TaskRecord): Plan | undefined {
  if (spec.type !== CREATE_TYPE) return undefined
  return planInput.safeParse(payloadOf(inputOf(spec.input), questions)).data
}
