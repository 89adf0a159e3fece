import { CARRIED, isPointer, pointersIn } from '../../core/artifact.ts'
import { checkRole } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { canonical, parseCanonical } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isOpen } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'
import { readableTask, taskIdInput } from '../tasks/read-task.ts'
import { noteArchived } from './archive.ts'
import { reporting } from './put.ts'

const NULL = canonical(null)

/**
 * Lets go of what is stored outside of the task. The task and its receipts stay, and so does a result that the task
 * carries itself: it is part of receipts, which never change. Saying it again does no harm.
 */
export async function archiveResult(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'cancel')
  const { task_id } = parse(taskIdInput, input)
  const { task } = await readableTask(engine, caller, task_id)
  if (isOpen(task)) {
    const details = { task_id, task_status: task.status }
    throw new Fault('INVALID_STATE_TRANSITION', details, 'The task has not ended, so there is no result yet.')
  }
  const { artifacts } = task.outcome
  const pointers = artifacts === null ? [] : pointersIn(parseCanonical(artifacts))
  const ours = pointers.filter(
    ({ channel, pointer }) => !pointer.startsWith(CARRIED) && engine.results?.has(channel),
  )
  for (const { pointer } of ours) {
    await reporting(engine, async () => engine.results?.ack(task_id, pointer)).catch(unlessGone)
  }
  const at = await noteArchived(engine, task.tenant, task_id, principalKey(caller.principal))
  const { result } = task.outcome
  // Beside an upload a worker often reports null, which is nothing to be kept.
  const isCarried = result !== null && result !== NULL && !isPointer(result, artifacts)
  return {
    ok: true,
    task_id,
    archived: ours.length,
    archived_at: isoTime(at),
    result_removed: !isCarried,
  } as const
}

/** A pointer that is not of this task is nobody's to archive here, and one that is gone needs nothing more. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Fault && error.code === 'RESULT_NOT_FOUND')) throw error
}
