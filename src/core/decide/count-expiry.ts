import { body } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import type { HeldTask } from '../task.ts'
import { anomaly } from './anomaly.ts'
import { finish, NO_EVIDENCE } from './finish.ts'

/** An expiry too many to be chance: the owner is told once. */
const SUSPICIOUS_EXPIRIES = 4

/** A lease was lost. At its limit of expiries the task has failed; otherwise its new count is the caller's to keep. */
export function countExpiry(draft: Draft, task: HeldTask): { expiry_count: number; exhausted: boolean } {
  const expiry_count = task.expiry_count + 1
  if (expiry_count === SUSPICIOUS_EXPIRIES) {
    anomaly(draft, task, 'repeated_lease_expiry', { expiry_count, worker_id: task.lease.worker_id })
  }
  const exhausted = expiry_count >= task.max_expiries
  if (exhausted) exhaust(draft, { ...task, expiry_count })
  return { expiry_count, exhausted }
}

function exhaust(draft: Draft, task: HeldTask): void {
  const error = canonical({
    code: 'LEASE_EXPIRY_LIMIT',
    message: `The lease expired ${task.expiry_count} times.`,
  })
  const seq = draft.receipt({
    type: 'task.failed',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    lease_id: task.lease.lease_id,
    parents: [task.seq],
    body: body({ error, retry_after_seconds: null, retry_recommended: canonical(false) }),
  })
  finish(draft, task, {
    ...NO_EVIDENCE,
    status: 'failed',
    cause: 'fail',
    result: null,
    error,
    receipt_seq: seq,
    obligation_open: false,
    dead_letter: true,
  })
}
