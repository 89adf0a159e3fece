import { body } from '../bodies.ts'
import type { Answers, RecordSchedule } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault, invalid } from '../errors.ts'
import { canonical } from '../json/json.ts'
import { checkLease } from '../lease.ts'

/**
 * The lease proves that somebody asked. A schedule obliges the scheduler until it is deleted, however long ago the
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
