import type { LeaseClaim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import { leaseSeq } from '../../core/ids.ts'
import { type Caller, type PrincipalKind, parsePrincipalKey, principalKey } from '../../core/principal.ts'
import type { Settings } from '../../core/settings.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Reads, TaskLease } from '../../store/reads.ts'
import type { WorkerRegistry } from '../workers/registry.ts'

export interface LeaseDeps {
  readonly engine: Engine
  readonly workers: WorkerRegistry
}

interface LeaseFields {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

/** The members that all commands of a lease holder share: the holder and the lease. */
export async function leaseCall(
  { engine, workers }: LeaseDeps,
  caller: Caller,
  { worker_id, task_id, lease_id }: LeaseFields,
): Promise<LeaseClaim & { tenant: number }> {
  const { tenant } = await engine.tenant(caller.tenant)
  // The response may have to say that the worker is being drained.
  if (workers.drains.known(tenant) === undefined) await workers.drains.load(tenant)
  return { tenant, task_id, lease_id, worker_id, holder: principalKey(caller.principal) }
}

/** The duration of a lease in ms: the given seconds or the default, limited by the maximum. */
export function leaseMs(settings: Settings, seconds: number | undefined): number {
  const { default_lease_ttl_seconds, max_lease_ttl_seconds } = settings
  return Math.min(seconds ?? default_lease_ttl_seconds, max_lease_ttl_seconds) * 1000
}

/** The fields that a call about a lease needs besides the lease itself. */
export interface FoundLease {
  readonly task_id: string
  readonly worker_id: string
  readonly worker_kind: PrincipalKind
}

/** Number of receipts of a task that are searched for a lease that it no longer has. */
const MAX_RECEIPTS = 1000

/**
 * The task and the holder of a lease, for protocols whose calls contain only the lease id. The operation that uses them
 * checks the lease. A lease that a later one has replaced is refused here, because its holder is not stored.
 */
export async function findLease(
  engine: Engine,
  tenantName: string,
  leaseId: string,
  taskId?: unknown,
): Promise<FoundLease> {
  const { reads } = engine.store
  const { tenant } = await engine.tenant(tenantName)
  const task = await engine.reading(() => taskOf(reads, tenant, leaseId, taskId))
  if (task === undefined) throw new Fault('LEASE_NOT_FOUND')
  const { task_id, status, lease_id, holder, worker_id } = task
  if (lease_id === leaseId && holder !== null && worker_id !== null) {
    return { task_id, worker_id, worker_kind: parsePrincipalKey(holder).kind }
  }
  // A caller that does not know the random part of the lease id must not learn about the task.
  const existed = await engine.reading(() => reads.hadLease(tenant, task_id, leaseId, MAX_RECEIPTS))
  if (!existed) throw new Fault('LEASE_NOT_FOUND')
  throw new Fault('LEASE_INVALID_OR_EXPIRED', { task_id, task_status: status })
}

/** Found by the seq in the lease id. Lease ids of older versions have none: calls about them must name the task. */
async function taskOf(
  reads: Reads,
  tenant: number,
  leaseId: string,
  taskId: unknown,
): Promise<TaskLease | undefined> {
  const seq = leaseSeq(leaseId)
  if (seq !== undefined) return reads.taskLease(tenant, seq)
  const record = typeof taskId === 'string' ? await reads.task(tenant, taskId) : undefined
  if (record === undefined) return undefined
  const { task } = record
  const { lease_id = null, holder = null, worker_id = null } = ('lease' in task && task.lease) || {}
  return { task_id: task.task_id, status: task.status, lease_id, holder, worker_id }
}
