import { z } from 'zod'
import { checkPermission } from '../../core/authorization.ts'
import { Fault, invalid } from '../../core/errors.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { isHeld, type Task } from '../../core/task.ts'
import { leaseId, parse, taskId, text, workerId } from '../input.ts'
import { checkUpload, type RedactionDeps } from '../policies/results.ts'
import { readTask } from '../tasks/read-task.ts'
import { channelFor, type PlacementDeps } from './placement.ts'
import { putResult } from './put.ts'
import type { ResultContent, StoredArtifact } from './result-store.ts'

export const uploadResultInput = z.strictObject({
  task_id: taskId,
  worker_id: workerId,
  lease_id: leaseId
    .optional()
    .describe('Id of the lease; if absent, the lease that the worker holds on the task'),
  channel: text(64)
    .optional()
    .describe('Channel to store the result in. Default: that of the task type or the server'),
  checksum: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 in lower-case hex')
    .optional()
    .describe('SHA-256 of the content in lower-case hex; the upload is refused if it does not match'),
  media_type: text(255).optional().describe('Media type of the content; application/octet-stream if absent'),
})

/** Stores a result of any size for a worker that has no storage. The worker then sends the artifact with complete. */
export async function uploadResult(
  deps: RedactionDeps & PlacementDeps,
  caller: Caller,
  input: unknown,
  content: ResultContent,
): Promise<StoredArtifact> {
  checkPermission(caller, 'lease')
  const asked = parse(uploadResultInput, input)
  const { engine, results } = deps
  const tenant = await engine.tenant(caller.tenant)
  const record = await readTask(engine, tenant, asked.task_id)
  checkHolder(record.task, caller, asked)
  await checkUpload(deps, tenant, record)
  const channel = asked.channel ?? (await channelFor(deps, tenant.tenant, record.spec.type))
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
    throw invalid('checksum', `does not match the content, whose checksum is ${artifact.checksum}`)
  }
  return artifact
}

/** Expiry is left to complete, which uses the clock of the store: an upload that comes too late is removed later. */
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
