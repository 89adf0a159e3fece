import { body } from '../bodies.ts'
import type { Answers, Claim, Granted, Reclaim } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { leaseId } from '../ids.ts'
import { type CanonicalJson, canonical } from '../json/json.ts'
import { leaseEnd } from '../lease.ts'
import { asHeld, type Lease, type QueuedTask } from '../task.ts'
import { isPastDeadline } from '../time.ts'
import { transition } from '../transitions.ts'
import { missDeadline } from './finish.ts'

/** Characters of input that one claim hands out. A single task may have more. */
const MAX_LENGTH = 8 * 1024 * 1024

export function claim(draft: Draft, command: Claim): Decision<Answers['claim']> {
  const { world } = draft
  const wanted = Math.min(command.max_tasks, freeLeases(draft))
  const granted: Granted[] = []
  if (wanted > 0) {
    const accepted = acceptance(command)
    let length = 0
    for (const task of world.ready(command)) {
      // The deadline counts whether or not a sweep has run.
      if (isPastDeadline(task, world.now)) {
        missDeadline(draft, task)
        continue
      }
      length += task.input_length
      if (granted.length > 0 && length > MAX_LENGTH) break
      granted.push(grant(draft, task, command, accepted))
      if (granted.length === wanted) break
    }
  }
  return draft.done({ granted, now: world.now })
}

/** A claim beyond the quota of the tenant is not an error: it receives no tasks. */
function freeLeases({ world }: Draft): number {
  const limit = world.settings.max_concurrent_leases
  return limit < 0 ? Number.MAX_SAFE_INTEGER : Math.max(0, limit - world.tenant.active_leases)
}

/** Body of the task.accepted receipts of a claim. */
export function acceptance({ capabilities, instance_id, expected_duration }: Claim | Reclaim): CanonicalJson {
  return body({
    expected_duration: canonical(expected_duration),
    worker_capabilities: canonical(capabilities),
    worker_instance_id: canonical(instance_id),
  })
}

/** Leases the task, with the receipt that says so. */
export function grant(
  draft: Draft,
  task: QueuedTask,
  command: Claim | Reclaim,
  accepted: CanonicalJson,
): Granted {
  const { world } = draft
  const status = transition(task.status, 'claim')
  const lease: Lease = {
    lease_id: leaseId(task.seq, world.random),
    holder: command.holder,
    worker_id: command.worker_id,
    instance_id: command.instance_id,
    acquired_at: world.now,
    expires_at: Math.min(world.now + command.ttl_ms, leaseEnd(task, world.now, world.settings)),
    renewals: 0,
  }
  const fence = task.fence + 1
  draft.task(asHeld(task, { fence, updated_at: world.now, status, lease, started_at: null }))
  draft.receipt({
    type: 'task.accepted',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: lease.lease_id,
    parents: [task.seq],
    body: accepted,
  })
  return { task, lease, fence }
}
