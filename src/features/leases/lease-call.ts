import type { LeaseClaim } from '../../core/command.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import type { Settings } from '../../core/settings.ts'
import type { Engine } from '../../engine/engine.ts'
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
