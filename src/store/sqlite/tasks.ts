import { taskSeq } from '../../core/ids.ts'
import type { DoneTask, OpenTask, Task, TaskSpec } from '../../core/task.ts'
import { type TaskRow, taskSpec } from '../layout/task-head.ts'
import { type DoneRow, decodeDone, decodeLive, type Stored } from '../layout/task-state.ts'
import type { Database } from './database.ts'

/** The primary keys of live and done rows begin with what lists are made of, so a lookup tries each of these. */
export const ANY_PARKED = 'parked IN (0, 1, 2)'
export const ANY_DONE = 'status IN (1, 2, 3)'

export const TASK_COLUMNS = 'tenant, seq, owner, created_at, session_id, idempotency_key, head, input'
export const LIVE_COLUMNS = 'tenant, seq, status, state'
const DONE_COLUMNS = `${LIVE_COLUMNS}, result, details`

export const LIVE = `SELECT ${LIVE_COLUMNS} FROM tasks_live WHERE tenant = ? AND ${ANY_PARKED} AND seq = ?`
export const DONE = `SELECT ${DONE_COLUMNS} FROM tasks_done WHERE tenant = ? AND ${ANY_DONE} AND seq = ?`

type LiveValues = readonly [tenant: number, seq: number, status: number, state: string]
type DoneValues = readonly [...LiveValues, result: DoneRow['result'], details: DoneRow['details']]

/** A row that was read as an array. */
export function liveTask(values: unknown): Stored<OpenTask> {
  const [tenant, seq, status, state] = values as LiveValues
  return decodeLive({ tenant, seq, status, state })
}

function doneTask(values: unknown): Stored<DoneTask> {
  const [tenant, seq, status, state, result, details] = values as DoneValues
  return decodeDone({ tenant, seq, status, state, result, details })
}

/** Finds a task among the open ones, else among the done. */
export function prepareTaskAt(database: Database): (tenant: number, seq: number) => Stored<Task> | undefined {
  const live = database.prepareArrays(LIVE)
  const done = database.prepareArrays(DONE)
  return (tenant, seq) => {
    const open = live.get(tenant, seq)
    if (open !== undefined) return liveTask(open)
    const ended = done.get(tenant, seq)
    return ended === undefined ? undefined : doneTask(ended)
  }
}

/** The same by its id, which contains the seq. */
export function prepareTaskLookup(
  database: Database,
): (tenant: number, taskId: string) => Stored<Task> | undefined {
  const find = prepareTaskAt(database)
  return (tenant, taskId) => {
    const seq = taskSeq(taskId)
    const stored = seq === undefined ? undefined : find(tenant, seq)
    return stored?.task.task_id === taskId ? stored : undefined
  }
}

export function prepareSpecLookup(database: Database): (tenant: number, seq: number) => TaskSpec | undefined {
  const select = database.prepare(`SELECT ${TASK_COLUMNS} FROM tasks WHERE tenant = ? AND seq = ?`)
  return (tenant, seq) => {
    const row = select.get(tenant, seq)
    return row === undefined ? undefined : taskSpec(row as TaskRow)
  }
}
