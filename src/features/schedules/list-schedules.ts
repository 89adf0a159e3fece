import { z } from 'zod'
import { seesAll } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { canonical, type JsonObject, parseCanonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { boundedScan, type ScanPage, scanPage } from '../../engine/bounded-scan.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Plan } from '../../scheduler/plan/plan.ts'
import { timetableOf } from '../../scheduler/plan/timetable.ts'
import type { TaskRecord } from '../../store/reads.ts'
import { isObject } from '../../util/guards.ts'
import { defineOperation } from '../define-operation.ts'
import { nextCursor, pageLimit, text } from '../input.ts'
import { ownerOf } from '../tasks/task-search.ts'
import { isDeleted } from './record-schedule.ts'
import {
  planOf,
  recordedSchedule,
  scheduleId,
  type Watched,
  watchedSchedule,
  watchedSchedules,
} from './schedule-watch.ts'
import { scheduleDetailShape, scheduleShape, scheduleView } from './shape.ts'
import { scheduleListSummary } from './summary.ts'

/** Each schedule costs the read of a task, so fewer are scanned than elsewhere. */
const LIMITS = { scanned: 2000, page: 200 }

const NEXT_RUNS = 5

interface Row {
  readonly seq: string
  readonly record: TaskRecord
  readonly plan: Plan
  readonly watched: Watched
}

export const listSchedules = defineOperation({
  name: 'list_schedules',
  title: 'List schedules',
  description:
    'The schedules, oldest first, with their next run and what the last one did. Agents see their own, admins and operators those of the tenant. ' +
    'It needs no running scheduler. A page can hold fewer than limit: follow next_cursor until it is null.',
  input: z.strictObject({
    created_by: text(300).optional().describe('Only schedules of this owner: the id of an agent, or kind:id'),
    limit: pageLimit,
    cursor: text(64).optional().describe('next_cursor of the previous page'),
  }),
  output: z.object({
    schedules: z.array(scheduleShape).readonly().describe('The schedules of this page'),
    next_cursor: nextCursor,
  }),
  summary: scheduleListSummary,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/schedules' },
  example: { principal_id: 'planner' },
  async run({ engine }, caller, { created_by, limit, cursor = '' }) {
    const { tenant } = await engine.tenant(caller.tenant)
    const self = principalKey(caller.principal)
    const owner = created_by === undefined ? undefined : ownerOf(created_by)
    const { rows, next } = await boundedScan<Row>(
      {
        from: cursor,
        limit,
        fits: ({ record: { task } }) =>
          (seesAll(caller.role) || task.owner === self) && (owner === undefined || task.owner === owner),
      },
      (after, size) => readPage(engine, tenant, after, size),
      LIMITS,
    )
    return {
      schedules: rows.map(({ record, plan, watched }) => scheduleView(record, plan, watched)),
      next_cursor: next === null ? null : String(next),
    }
  },
})

async function readPage(
  engine: Engine,
  tenant: number,
  after: string,
  size: number,
): Promise<ScanPage<Row, string>> {
  const entries = await watchedSchedules(engine, tenant, after, size)
  const ids = entries.map(({ schedule_id }) => schedule_id)
  const records = await engine.reading(() => engine.store.reads.tasks(tenant, ids))
  const byId = new Map(records.map((record) => [record.task.task_id, record]))
  const { next } = scanPage(
    entries.map(({ schedule_id }) => ({ seq: schedule_id })),
    size,
  )
  const rows = entries.flatMap(({ schedule_id, watched }): Row[] => {
    const record = byId.get(schedule_id)
    if (record === undefined) return []
    const plan = planOf(record)
    return plan === undefined ? [] : [{ seq: schedule_id, record, plan, watched }]
  })
  return { rows, next }
}

export const getSchedule = defineOperation({
  name: 'get_schedule',
  title: 'Get a schedule',
  description:
    'One schedule with its next five runs and the task that each run creates. list_tasks with the label schedule_id lists the tasks of its runs.',
  input: z.strictObject({ schedule_id: scheduleId }),
  output: scheduleDetailShape,
  access: 'list',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/schedules/{schedule_id}' },
  async run({ engine }, caller, { schedule_id }) {
    const { record, plan, watched, now } = await visibleSchedule(engine, caller, schedule_id)
    return {
      ...scheduleView(record, plan, watched),
      next_runs: watched.is_paused ? [] : nextRuns(record, plan, Math.max(now, watched.next_run_at ?? 0)),
      task_template: templateOf(plan),
    }
  },
})

function templateOf({ task_template }: Plan): JsonObject {
  const template = parseCanonical(canonical(task_template))
  return isObject(template) ? { ...template } : {}
}

/** The runs from the given time on. A run that is overdue is among them: it is the next one. */
function nextRuns({ spec }: TaskRecord, plan: Plan, from: number): string[] {
  const timetable = timetableOf(plan.timing, spec.created_at)
  const runs: string[] = []
  for (let run = timetable.next(from - 1); run !== null && runs.length < NEXT_RUNS; ) {
    runs.push(isoTime(run))
    run = timetable.next(run)
  }
  return runs
}

export interface VisibleSchedule {
  readonly record: TaskRecord
  readonly plan: Plan
  readonly watched: Watched
  /** The seq of its schedule.created receipt. */
  readonly opening: number
  /** The time of the store. */
  readonly now: number
}

/** A schedule that the caller may see. A schedule of another owner is reported as not found. */
export async function visibleSchedule(
  engine: Engine,
  caller: Caller,
  schedule_id: string,
): Promise<VisibleSchedule> {
  const { tenant } = await engine.tenant(caller.tenant)
  const absent = () => new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
  const { asking, opening } = await recordedSchedule(engine, tenant, schedule_id)
  const isVisible = seesAll(caller.role) || asking.task.owner === principalKey(caller.principal)
  if (opening === undefined || !isVisible || (await isDeleted(engine, tenant, opening.seq))) throw absent()
  const plan = planOf(asking)
  const watched = await watchedSchedule(engine, tenant, schedule_id)
  if (plan === undefined || watched === undefined) throw absent()
  const now = await engine.reading(() => engine.store.now())
  return { record: asking, plan, watched, opening: opening.seq, now }
}
