import type { CanonicalJson } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import { QUESTION_BYTES, type TaskLine, type TaskTexts } from '../reads.ts'
import { headOf } from './task-head.ts'
import { doneStatus, errorIn, openStatus, summaryOf } from './task-state.ts'

/** A row of `tasks` joined with that of `tasks_live` or `tasks_done`, without the long texts. */
export interface LineRow {
  readonly seq: number
  readonly owner: PrincipalKey
  readonly session_id: string | null
  readonly head: string
  readonly input_bytes: number
  readonly live_status: number | null
  readonly done_status: number | null
  readonly state: string
  readonly outcome_bytes: number
}

export function taskLine(row: LineRow): TaskLine {
  const { task_id, type, labels } = headOf(row.head)
  const { principal_ai, question_count, worker_id } = summaryOf(row.state)
  return {
    seq: row.seq,
    task_id,
    status: row.live_status === null ? doneStatus(row.done_status) : openStatus(row.live_status),
    owner: row.owner,
    principal_ai,
    type,
    session_id: row.session_id,
    labels,
    worker_id,
    bytes: row.input_bytes + row.outcome_bytes + QUESTION_BYTES * question_count,
  }
}

/** The long texts of a task. */
export interface TextsRow {
  readonly seq: number
  readonly input: CanonicalJson
  readonly details: string | null
}

export function taskTexts({ seq, input, details }: TextsRow): TaskTexts {
  return { seq, input, error: errorIn(details) }
}
