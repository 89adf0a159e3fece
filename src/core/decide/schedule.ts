import { forbidden, seesAll } from '../authorization.ts'
import { body } from '../bodies.ts'
import type { Answers, RecordSchedule, ReportStale } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault, invalid } from '../errors.ts'
import { canonical, type Json, type JsonObject, parseCanonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'
import type { Receipt } from '../receipt.ts'
import { isoTime } from '../time.ts'
import { anomaly } from './record.ts'

/**
 * The lease proves that a task asked for it. A schedule obliges the scheduler until it is deleted, however long ago the
 * task that asked for it has ended. Each event is recorded once; said again, it is answered with the first receipt.
 */
export function recordSchedule(draft: Draft, command: RecordSchedule): Decision<Answers['record_schedule']> {
  return command.event === 'created' ? created(draft, command) : deleted(draft, command)
}

function created(draft: Draft, command: RecordSchedule): Decision<Answers['record_schedule']> {
  const { world } = draft
  const { task_id, lease_id, schedule_id, holder } = command
  const task = checkLease(world.task(task_id), command, world.now)
  if (schedule_id !== task_id) throw invalid('schedule_id', 'is not the id of the task that asked for it')
  const before = world.child(task.seq, 'schedule.created')
  if (before !== undefined) {
    // A creation that is done again after the deletion must not bring the schedule back.
    if (world.child(before.seq, 'schedule.deleted')) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
    return draft.done({ seq: before.seq })
  }
  const seq = draft.receipt({
    type: 'schedule.created',
    from: holder,
    to: task.owner,
    task_id,
    lease_id,
    schedule_id,
    parents: [task.seq],
    body: body({ schedule: command.schedule }),
  })
  draft.open(task, seq)
  return draft.done({ seq })
}

/** Only the owner of a schedule can have it deleted. The receipt belongs to the task that asked for the schedule. */
function deleted(draft: Draft, command: RecordSchedule): Decision<Answers['record_schedule']> {
  const { world } = draft
  const { task_id, lease_id, schedule_id, holder } = command
  const task = checkLease(world.task(task_id), command, world.now)
  const asking = world.task(schedule_id)
  const opening = world.child(command.asked, 'schedule.created')
  if (asking === undefined || opening === undefined) throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
  if (asking.owner !== task.owner) {
    throw new Fault(
      'FORBIDDEN',
      { schedule_id },
      'The schedule belongs to another than who asks to delete it.',
    )
  }
  const before = world.child(opening.seq, 'schedule.deleted')
  if (before !== undefined) return draft.done({ seq: before.seq })
  const seq = draft.receipt({
    type: 'schedule.deleted',
    from: holder,
    to: asking.owner,
    task_id: asking.task_id,
    lease_id,
    schedule_id,
    parents: [opening.seq],
    body: body({ deleted_by_task_id: canonical(task_id), schedule: command.schedule }),
  })
  draft.close(asking, opening.seq)
  return draft.done({ seq })
}

/**
 * Tells the owner of a schedule that a run is long overdue, once for each run. Runs only ever move on, so the newest
 * report says whether this one is known.
 */
export function reportStale(draft: Draft, command: ReportStale): Decision<Answers['report_stale']> {
  const { world } = draft
  const { schedule_id, next_run_at, reason } = command
  const task = world.task(schedule_id)
  const opening = world.child(command.asked, 'schedule.created')
  if (task === undefined || opening === undefined || world.child(opening.seq, 'schedule.deleted')) {
    throw new Fault('SCHEDULE_NOT_FOUND', { schedule_id })
  }
  if (opening.from !== command.by && !seesAll(command.role)) throw forbidden('admin', command.role)
  if (next_run_at > world.now) throw invalid('next_run_at', 'is not in the past')
  const before = world.child(opening.seq, 'system.anomaly')
  if (before !== undefined && reportedRun(before) >= isoTime(next_run_at)) {
    return draft.done({ seq: before.seq })
  }
  const details = { next_run_at: isoTime(next_run_at), reason, schedule_id }
  return draft.done({ seq: anomaly(draft, task, 'stale_schedule', details, opening.seq, schedule_id) })
}

/** ISO times of the same form compare as texts do. */
function reportedRun({ body }: Receipt): string {
  return String(member(member(parseCanonical(body), 'details'), 'next_run_at'))
}

function member(value: Json, name: string): Json {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? ((value as JsonObject)[name] ?? null) : null
}
