import { checkRole } from '../../core/authorization.ts'
import type { LeaseClaim } from '../../core/command.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Services } from '../services.ts'

interface LeaseFields {
  readonly worker_id: string
  readonly task_id: string
  readonly lease_id: string
}

/** The part that all calls of a lease holder share: who calls, for which lease. */
export async function leaseCall(
  engine: Services,
  caller: Caller,
  { worker_id, task_id, lease_id }: LeaseFields,
): Promise<LeaseClaim & { tenant: number }> {
  checkRole(caller, 'lease')
  const { tenant } = await engine.tenant(caller.tenant)
  const { drains } = engine.workers
  // The answer may have to say that the worker is to stop.
  if (drains.known(tenant) === undefined) await drains.load(tenant)
  return { tenant, task_id, lease_id, worker_id, holder: principalKey(caller.principal) }
}

/** A lease time in ms: the given seconds or the default, and never above the maximum. */
export function leaseMs(engine: Services, seconds: number | undefined): number {
  const { default_lease_ttl_seconds, max_lease_ttl_seconds } = engine.settings
  return Math.min(seconds ?? default_lease_ttl_seconds, max_lease_ttl_seconds) * 1000
}
