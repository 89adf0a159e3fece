import type { Claim } from '../../core/command.ts'
import { Fault } from '../../core/errors.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import type { Services } from '../services.ts'

/** Leases that are looked at, of those that earlier processes of a worker left behind. */
const MAX_LEASES = 1000

/**
 * Takes over leases that an earlier process of the worker holds, as many as the claim asks for and of the types that it
 * accepts. A lease that ends meanwhile is left out.
 */
export async function reclaim(
  engine: Services,
  claim: Claim,
): Promise<{ readonly granted: readonly Handout[]; readonly now: number }> {
  const { tenant, holder, worker_id, instance_id, accept_types, max_tasks, capabilities } = claim
  const { ttl_ms, expected_duration } = claim
  if (instance_id === null) return { granted: [], now: 0 }
  const { reads } = engine.store
  const found = await engine.reading(() => reads.leasesOf(tenant, holder, worker_id, instance_id, MAX_LEASES))
  const lanes = engine.directory.of(tenant)
  const accepted = found.filter(({ lane }) => {
    const type = lanes.get(lane)?.type
    return accept_types === undefined || typeof type !== 'string' || accept_types.includes(type)
  })
  const answers = await Promise.all(
    accepted.slice(0, max_tasks).map(({ task_id, lease_id }) =>
      engine
        .submit({
          verb: 'reclaim',
          tenant,
          holder,
          worker_id,
          instance_id,
          capabilities,
          ttl_ms,
          expected_duration,
          task_id,
          lease_id,
        })
        .catch(lost),
    ),
  )
  const regained = answers.filter((answer) => answer !== undefined)
  return {
    granted: regained.flatMap(({ granted }) => granted),
    now: Math.max(0, ...regained.map(({ now }) => now)),
  }
}

function lost(error: unknown): undefined {
  if (error instanceof Fault && error.code === 'LEASE_INVALID_OR_EXPIRED') return undefined
  throw error
}
