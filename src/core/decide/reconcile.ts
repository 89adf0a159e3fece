import { bodyWithResult } from '../bodies.ts'
import type { Answers, Reconcile } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { isOpen, type OpenTask } from '../task.ts'
import { isParked } from '../transitions.ts'
import { failureReceipt, finish } from './finish.ts'

/**
 * Ends a task that a worker has ended in the shared ledger. Idempotent: a task that has ended is not touched. Neither is
 * one that waits for an answer, because no worker may go past a decision. The receipt names no lease, which says that the
 * shared ledger has the report already.
 */
export function reconcile(draft: Draft, command: Reconcile): Decision<Answers['reconcile']> {
  const task = draft.world.task(command.task_id)
  if (task === undefined || !isOpen(task) || isParked(task.status)) {
    return draft.done({ ended: false, status: task?.status ?? null })
  }
  return draft.done({ ended: true, status: endOf(draft, task, command) })
}

function endOf(draft: Draft, task: OpenTask, { holder, outcome }: Reconcile) {
  if (outcome.kind === 'failed') {
    const { error } = outcome
    const reported = { from: holder, retryable: false, retry_after_ms: null, lease_id: null }
    const receipt_seq = failureReceipt(draft, task, error, reported)
    return finish(draft, task, 'fail', { error, receipt_seq })
  }
  const { result, artifacts, result_summary, completion_metadata } = outcome
  const receipt_seq = draft.receipt({
    type: 'task.completed',
    from: holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: null,
    parents: [task.seq],
    body: bodyWithResult(task.task_id, result, {
      artifacts,
      completion_metadata,
      delivery_proof: null,
      result_summary: canonical(result_summary),
    }),
  })
  return finish(draft, task, 'complete', { result, error: null, artifacts, receipt_seq })
}
