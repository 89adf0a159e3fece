import { resultReadyBody } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import type { CanonicalJson } from '../json/json.ts'
import type { Evidence } from '../locatability.ts'
import { GATE, type PrincipalKey } from '../principal.ts'
import { asDone, type EndedLease, isHeld, type OpenTask, type Outcome } from '../task.ts'
import type { TerminalStatus } from '../transitions.ts'
import { type Cause, checkTransition } from '../transitions.ts'

export const NO_EVIDENCE: Evidence = { artifacts: null, delivery_proof: null }

type Ending = Evidence & {
  readonly status: TerminalStatus
  readonly result: CanonicalJson | null
  readonly error: CanonicalJson | null
  /** The seq of the terminal receipt. */
  readonly receipt_seq: number
  readonly obligation_open: boolean
  readonly dead_letter: boolean
}

/** Ends a task for good. */
export function finish(draft: Draft, task: OpenTask, ending: Ending & { readonly cause: Cause }): void {
  checkTransition(task.status, ending.cause)
  end(draft, task, ending)
}

/**
 * The end of a task: its last row, the word to its owner and to the agent for whom it was done, and its obligation
 * closed unless it stays open.
 */
export function end(draft: Draft, task: OpenTask, ending: Ending): void {
  const { now } = draft.world
  const outcome: Outcome = {
    completed_at: now,
    result: ending.result,
    error: ending.error,
    artifacts: ending.artifacts,
    delivery_proof: ending.delivery_proof,
    receipt_seq: ending.receipt_seq,
    obligation_open: ending.obligation_open,
    dead_letter: ending.dead_letter,
  }
  draft.task(
    asDone(task, {
      updated_at: now,
      status: ending.status,
      lease: endedLease(task),
      started_at: isHeld(task) ? task.started_at : null,
      outcome,
    }),
  )
  const seq = draft.receipt({
    type: 'task.result_ready',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    parents: [task.seq],
    body: resultReadyBody(task.task_id, ending.status, ending),
  })
  const onBehalf: PrincipalKey = `agent:${task.principal_ai}`
  if (onBehalf !== task.owner) draft.file(onBehalf, seq)
  if (!ending.obligation_open) draft.close(task)
}

function endedLease(task: OpenTask): EndedLease | null {
  if (!isHeld(task)) return null
  const { lease_id, holder, worker_id } = task.lease
  return { lease_id, holder, worker_id }
}
