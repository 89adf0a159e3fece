import { bodyWithResult } from '../bodies.ts'
import type { Answers, Complete } from '../command.ts'
import type { Decision, Draft } from '../draft.ts'
import { Fault } from '../errors.ts'
import { canonical } from '../json/json.ts'
import { checkLease, matches, staleLease } from '../lease.ts'
import { isLocatable } from '../locatability.ts'
import type { DoneTask, TaskCore } from '../task.ts'
import { finish } from './finish.ts'
import { anomaly } from './record.ts'

export function complete(draft: Draft, command: Complete): Decision<Answers['complete']> {
  const { world } = draft
  const known = world.task(command.task_id)
  if (known?.status === 'succeeded') return completeAgain(draft, known, command)

  const task = checkLease(known, command, world.now)
  const locatable = isLocatable(command)
  if (!locatable && world.settings.locatability === 'strict') throw new Fault('LOCATABILITY_REQUIRED')
  const seq = completed(draft, task, command, locatable)
  finish(draft, task, 'complete', {
    result: command.result,
    error: null,
    artifacts: command.artifacts,
    delivery_proof: command.delivery_proof,
    receipt_seq: seq,
    obligation_open: !locatable,
    dead_letter: false,
  })
  if (!locatable) anomaly(draft, task, 'locatability_missing', { worker_id: command.worker_id }, seq)
  if (command.displaced !== undefined) anomaly(draft, task, 'result_displaced', { ...command.displaced }, seq)
  return draft.done({ seq, obligation_open: !locatable })
}

/**
 * A repeated call under the same lease gets the same response. It may also add the evidence that a success lacked:
 * one more terminal receipt, which closes the obligation; the state stays.
 */
function completeAgain(draft: Draft, task: DoneTask, command: Complete): Decision<Answers['complete']> {
  const { outcome } = task
  if (task.lease === null || !matches(task.lease, command)) throw staleLease(task)
  if (outcome.result !== command.result) throw new Fault('RESULT_CONFLICT', { task_id: task.task_id })
  if (!isLocatable(command)) {
    return draft.done({ seq: outcome.receipt_seq, obligation_open: outcome.obligation_open })
  }
  if (!outcome.obligation_open) {
    if (outcome.artifacts !== command.artifacts || outcome.delivery_proof !== command.delivery_proof) {
      throw new Fault('RESULT_CONFLICT', { task_id: task.task_id })
    }
    return draft.done({ seq: outcome.receipt_seq, obligation_open: false })
  }
  const seq = completed(draft, task, command, true)
  const { artifacts, delivery_proof } = command
  draft.task({
    ...task,
    outcome: { ...outcome, artifacts, delivery_proof, receipt_seq: seq, obligation_open: false },
  })
  draft.close(task)
  return draft.done({ seq, obligation_open: false })
}

function completed(draft: Draft, task: TaskCore, command: Complete, locatable: boolean): number {
  return draft.receipt({
    type: 'task.completed',
    from: command.holder,
    to: task.owner,
    task_id: task.task_id,
    lease_id: command.lease_id,
    parents: locatable ? [task.seq] : [],
    closes: locatable,
    body: bodyWithResult(task.task_id, command.result, {
      artifacts: command.artifacts,
      completion_metadata: command.completion_metadata,
      delivery_proof: command.delivery_proof,
      result_summary: canonical(command.result_summary),
    }),
  })
}
