import { body } from '../bodies.ts'
import type { Answers, Claim, Granted } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { leaseId } from '../ids.ts'
import { canonical } from '../json.ts'
import { leaseEnd } from '../lease.ts'
import { asHeld, type Lease, type QueuedTask } from '../task.ts'
import { checkTransition } from '../transitions.ts'

export function claim(draft: Draft, command: Claim): Decision<Answers['claim']> {
  const { world } = draft
  const wanted = Math.min(command.max_tasks, freeLeases(draft))
  const granted: Granted[] = []
  if (wanted > 0) {
    const accepted = body({
      expected_duration: canonical(command.expected_duration),
      worker_capabilities: canonical(command.capabilities),
    })
    for (const task of world.ready(command)) {
      granted.push(grant(draft, task, command))
      draft.receipt({
        type: 'task.accepted',
        from: command.holder,
        to: task.owner,
        task_id: task.task_id,
        lease_id: granted.at(-1)?.lease.lease_id ?? null,
        parents: [task.seq],
        body: accepted,
      })
      if (granted.length === wanted) break
    }
  }
  return draft.done({ granted, now: world.now })
}

/** A claim beyond the tenant's quota is not an error: there is just nothing to hand out. */
function freeLeases({ world }: Draft): number {
  const limit = world.settings.max_concurrent_leases
  return limit < 0 ? Number.MAX_SAFE_INTEGER : Math.max(0, limit - world.tenant.active_leases)
}

function grant(draft: Draft, task: QueuedTask, command: Claim): Granted {
  const { world } = draft
  checkTransition(task.status, 'claim')
  const lease: Lease = {
    lease_id: leaseId(world.draw),
    holder: command.holder,
    worker_id: command.worker_id,
    acquired_at: world.now,
    expires_at: Math.min(world.now + command.ttl_ms, leaseEnd(task, world.now, world.settings)),
    renewals: 0,
  }
  const fence = task.fence + 1
  draft.task(asHeld(task, { fence, updated_at: world.now, status: 'leased', lease, started_at: null }))
  return { task, lease, fence }
}
