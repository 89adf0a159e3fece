import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isHeld, type Task } from '../../core/task.ts'
import { leaseId, parse, taskId, text, workerId } from '../input.ts'
import { checkUpload } from '../policies/results.ts'
import type { Services } from '../services.ts'
import { readTask } from '../tasks/read-task.ts'
import { channelFor } from './placement.ts'
import { putResult } from './put.ts'
import type { ResultContent, StoredArtifact } from './result-store.ts'

export const uploadResultInput = z.strictObject({
  task_id: taskId,
  worker_id: workerId,
  /** Without it, whatever lease the worker holds on the task will do. */
  lease_id: leaseId.optional(),
  channel: text(64).optional(),
  checksum: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 in lower-case hex')
    .optional(),
  media_type: text(255).optional(),
})

/** Takes a result of any size for a worker that has no storage of its own. It is then named in complete. */
export async function uploadResult(
  engine: Services,
  caller: Caller,
  input: unknown,
  content: ResultContent,
): Promise<StoredArtifact> {
  checkRole(caller, 'lease')
  const asked = parse(uploadResultInput, input)
  const tenant = await engine.tenant(caller.tenant)
  const record = await readTask(engine, tenant, asked.task_id)
  checkHolder(record.task, caller, asked)
  await checkUpload(engine, tenant, record)
  const { results } = engine
  const channel = asked.channel ?? (await channelFor(engine, tenant.tenant, record.spec.type))
  if (results === undefined || channel === null) {
    throw new Fault('CHANNEL_NOT_CONFIGURED', { channel: asked.channel ?? 'results_channel' })
  }
  const { artifact, takeBack } = await putResult(engine, results, record, content, {
    channel,
    media_type: asked.media_type ?? 'application/octet-stream',
    summary: null,
  })
  if (asked.checksum !== undefined && asked.checksum !== artifact.checksum) {
    await takeBack()
    throw invalid('checksum', `is not that of the content, which is ${artifact.checksum}`)
  }
  return artifact
}

/** Expiry is left to complete, which asks the clock of the database: what comes too late is removed later. */
function checkHolder(
  task: Task,
  caller: Caller,
  { worker_id, lease_id }: { readonly worker_id: string; readonly lease_id?: string | undefined },
): void {
  const holder = principalKey(caller.principal)
  const holds =
    isHeld(task) &&
    task.lease.holder === holder &&
    task.lease.worker_id === worker_id &&
    (lease_id === undefined || task.lease.lease_id === lease_id)
  if (holds) return
  throw new Fault('LEASE_INVALID_OR_EXPIRED', { task_id: task.task_id, task_status: task.status })
}
