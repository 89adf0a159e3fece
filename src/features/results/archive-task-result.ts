import { z } from 'zod'
import { CARRIED, isPointer, pointersIn } from '../../core/artifact.ts'
import { Fault } from '../../core/errors.ts'
import { canonical, parseCanonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation, ENDS } from '../define-operation.ts'
import { time } from '../fields.ts'
import { readableTask, taskIdInput } from '../tasks/read-task.ts'
import { noteArchived } from './archived-at.ts'
import { type ResultDeps, reporting } from './put.ts'

const archivedShape = z.object({
  ok: z.literal(true).describe('Always true; failures are errors'),
  task_id: z.string().describe('Id of the task'),
  archived: z.int().describe('Number of stored results that were removed'),
  archived_at: time.describe('Time at which the result was first archived'),
  result_removed: z.boolean().describe('False if the task itself stores the result: it can still be read'),
})

/** A result that the task stores itself stays: it is part of receipts, which never change. */
export const archiveTaskResult = defineOperation({
  name: 'archive_task_result',
  title: 'Archive a result',
  description:
    'Removes the stored result of a task that is no longer needed: files, blobs and objects are deleted, email is archived. ' +
    'The task, its receipts and a small result that the task itself stores remain.',
  input: taskIdInput,
  output: archivedShape,
  actor: 'agent',
  access: 'cancel',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/result/archive' },
  effect: ENDS,
  run: ({ engine, results }, caller, { task_id }) => archiveResult({ engine, results }, caller, task_id),
})

const NULL = canonical(null)

/** Archives the result of a task. Repeating it has no further effect. */
export async function archiveResult(
  { engine, results }: ResultDeps,
  caller: Caller,
  task_id: string,
): Promise<z.output<typeof archivedShape>> {
  const { task } = await readableTask(engine, caller, task_id)
  if (isOpen(task)) {
    const details = { task_id, task_status: task.status }
    throw new Fault('INVALID_STATE_TRANSITION', details, 'The task has not ended, so there is no result yet.')
  }
  const { artifacts, result } = task.outcome
  const pointers = artifacts === null ? [] : pointersIn(parseCanonical(artifacts))
  const stored = pointers.filter(
    ({ channel, pointer }) => !pointer.startsWith(CARRIED) && results?.has(channel),
  )
  for (const { pointer } of stored) {
    await reporting(engine, async () => results?.ack(task_id, pointer)).catch(unlessGone)
  }
  const at = await noteArchived(engine, task.tenant, task_id, principalKey(caller.principal))
  // Workers often report null beside an upload, which is not a result.
  const isInline = result !== null && result !== NULL && !isPointer(result, artifacts)
  return {
    ok: true,
    task_id,
    archived: stored.length,
    archived_at: isoTime(at),
    result_removed: !isInline,
  }
}

/** A pointer of another task cannot be archived here, and a result that is gone needs no removal. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'RESULT_NOT_FOUND')) throw error
}
