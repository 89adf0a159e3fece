import { Fault } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Plan, planInput } from '../../scheduler/plan/plan.ts'
import type { Child, TaskRecord } from '../../store/reads.ts'
import { text } from '../input.ts'
import { payloadOf } from '../questions/view.ts'
import { inputOf } from '../tasks/task-input.ts'

export const scheduleId = text(64).describe('Id of the schedule: the id of the task that asked for it')

/** The type of the tasks that ask for a schedule. */
const CREATE_TYPE = 'schedule.create'

/** What the ledger has recorded about a schedule. */
export interface RecordedSchedule {
  /** The task that asked for it. */
  readonly asking: TaskRecord
  /** Its schedule.created receipt. */
  readonly opening: Child | undefined
}

/** The request and its receipt never change, so they can be read before a commit. */
export async function recordedSchedule(
  engine: Engine,
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

/** The plan that the owner asked for, as stored; undefined if the task asked for something else. */
export function planOf({ spec, questions }: TaskRecord): Plan | undefined {
  if (spec.type !== CREATE_TYPE) return undefined
  return planInput.safeParse(payloadOf(inputOf(spec.input), questions)).data
}
