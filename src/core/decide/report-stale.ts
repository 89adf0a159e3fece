import { forbidden, seesAll } from '../authorization.ts'
import type { Answers, ReportStale } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault, invalid } from '../errors.ts'
import { type Json, type JsonObject, parseCanonical } from '../json/json.ts'
import type { Receipt } from '../receipt.ts'
import { isoTime } from '../time.ts'
import { anomaly } from './anomaly.ts'

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
