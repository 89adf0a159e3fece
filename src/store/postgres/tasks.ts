import type pg from 'pg'
import type { Task } from '../../core/task.ts'
import { type DoneRow, decodeDone, decodeLive, type LiveRow, type Stored } from '../layout/task-state.ts'
import { ask } from './ask.ts'
import { parameters } from './columns.ts'
import { settled } from './database.ts'
import { seqsOf } from './load.ts'
import { SEQ_KEY } from './shapes.ts'

export function taskSeqs(tenant: number, taskIds: readonly string[]) {
  return seqsOf(taskIds.map((task_id) => ({ tenant, task_id })))
}

/** In no particular order; absent ones are left out. */
export async function findTasks(
  client: pg.ClientBase,
  tenant: number,
  taskIds: readonly string[],
): Promise<Stored<Task>[]> {
  const { refs, isWanted } = taskSeqs(tenant, taskIds)
  return (await findTasksAt(client, refs)).filter(({ task }) => isWanted(task))
}

export async function findTasksAt(
  client: pg.ClientBase,
  refs: readonly { readonly tenant: number; readonly seq: number }[],
): Promise<Stored<Task>[]> {
  if (refs.length === 0) return []
  const keys = parameters(SEQ_KEY, refs)
  // Open tasks first: one that ends between the two statements is then found by both, not by neither.
  const [live, done] = await settled([
    ask<LiveRow>(client, 'live_tasks', keys),
    ask<DoneRow>(client, 'done_tasks', keys),
  ])
  const found = new Map<number, Stored<Task>>()
  for (const row of live) found.set(row.seq, decodeLive(row))
  for (const row of done) found.set(row.seq, decodeDone(row))
  return [...found.values()]
}
