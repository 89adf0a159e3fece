import type { Answers, ReportRefusal } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { anomaly } from './anomaly.ts'

/** Refusals cost their caller nothing, so that only so many of them are written down. */
const EVERY_MS = 60_000

/** Tells the owner of a call without a valid lease, unless the task had an anomaly within the last minute. */
export function reportRefusal(draft: Draft, command: ReportRefusal): Decision<Answers['report_refusal']> {
  const { world } = draft
  const task = world.task(command.task_id)
  if (task === undefined) return draft.done({ seq: null })
  const last = world.child(task.seq, 'system.anomaly')
  if (last !== undefined && world.now - last.created_at < EVERY_MS) return draft.done({ seq: null })
  const { call, by, worker_id } = command
  return draft.done({
    seq: anomaly(draft, task, 'invalid_lease_call', { call, by, worker_id, task_status: task.status }),
  })
}
