import { Fault } from '../../core/errors.ts'
import { leaseSeq } from '../../core/ids.ts'
import { type PrincipalKind, parsePrincipalKey } from '../../core/principal.ts'
import type { Engine } from '../engine.ts'

/** What a call about a lease needs to name besides the lease. */
export interface FoundLease {
  readonly task_id: string
  readonly worker_id: string
  readonly worker_kind: PrincipalKind
}

/** A task of many receipts is searched this far for a lease that it no longer has. */
const MAX_RECEIPTS = 1000

/**
 * The task and the holder of a lease, for protocols whose calls name the lease alone. It only supplies names: the verb
 * that uses them checks the lease. A lease that another has replaced is refused here, because its holder is not kept.
 */
export async function findLease(engine: Engine, tenantName: string, leaseId: string): Promise<FoundLease> {
  const { reads } = engine.store
  const seq = leaseSeq(leaseId)
  if (seq === undefined) throw new Fault('LEASE_NOT_FOUND')
  const { tenant } = await engine.tenant(tenantName)
  const task = await engine.reading(() => reads.taskLease(tenant, seq))
  if (task === undefined) throw new Fault('LEASE_NOT_FOUND')
  const { task_id, status, lease_id, holder, worker_id } = task
  if (lease_id === leaseId && holder !== null && worker_id !== null) {
    return { task_id, worker_id, worker_kind: parsePrincipalKey(holder).kind }
  }
  // Whoever does not know the random part of a lease must not learn about the task.
  const existed = await engine.reading(() => reads.hadLease(tenant, task_id, leaseId, MAX_RECEIPTS))
  if (!existed) throw new Fault('LEASE_NOT_FOUND')
  throw new Fault('LEASE_INVALID_OR_EXPIRED', { task_id, task_status: status })
}
