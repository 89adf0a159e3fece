import { body } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { HeldTask } from '../task.ts'

/** Tells the operator's target, always within the task's own tenant, where escalation is switched on. */
export function escalate(
  draft: Draft,
  task: HeldTask,
  reason: 'lease_expired' | 'max_retries_exceeded',
): void {
  const { settings } = draft.world
  if (!settings.escalation_enabled) return
  const to = settings.escalation_target ?? task.owner
  draft.receipt({
    type: 'task.escalated',
    from: GATE,
    to,
    task_id: task.task_id,
    lease_id: task.lease.lease_id,
    parents: [task.seq],
    body: body({
      escalation_class: canonical('policy'),
      escalation_reason: canonical(reason),
      escalation_to: canonical(to),
    }),
  })
}
