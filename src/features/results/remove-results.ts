import { CARRIED, pointersIn } from '../../core/artifact.ts'
import { Fault } from '../../core/errors.ts'
import { parseCanonical } from '../../core/json/json.ts'
import type { DoneTask } from '../../core/task.ts'
import { type ResultDeps, reporting } from './put.ts'

/** Removes what channels store of a result, and resolves with the number of removed objects. */
export async function removeStoredResults(
  { engine, results }: ResultDeps,
  { tenant, task_id, outcome: { artifacts } }: DoneTask,
): Promise<number> {
  const pointers = artifacts === null ? [] : pointersIn(parseCanonical(artifacts))
  const stored = pointers.filter(
    ({ channel, pointer }) => !pointer.startsWith(CARRIED) && results?.has(tenant, channel),
  )
  for (const { pointer } of stored) {
    await reporting(engine, async () => results?.ack({ tenant, task_id }, pointer)).catch(unlessGone)
  }
  return stored.length
}

/** A pointer of another task cannot be archived here, and a result that is gone needs no removal. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'RESULT_NOT_FOUND')) throw error
}
