import { body } from '../bodies.ts'
import type { Draft } from '../draft.ts'
import { canonical } from '../json/json.ts'
import { GATE } from '../principal.ts'
import { isHeld, type OpenTask } from '../task.ts'
import { isoTime } from '../time.ts'
import { finish, NO_EVIDENCE } from './finish.ts'

/** The task has not ended by its deadline: it has failed, whatever its state, and nothing tries it again. */
export function missDeadline(draft: Draft, task: OpenTask): 'failed' {
  const by = isoTime(task.deadline_at ?? draft.world.now)
  const error = canonical({ code: 'DEADLINE_EXCEEDED', message: `The task did not end by ${by}.` })
  const seq = draft.receipt({
    type: 'task.failed',
    from: GATE,
    to: task.owner,
    task_id: task.task_id,
    lease_id: isHeld(task) ? task.lease.lease_id : null,
    parents: [task.seq],
    body: body({ error, retry_after_seconds: null, retry_recommended: canonical(false) }),
  })
  finish(draft, task, {
    ...NO_EVIDENCE,
    status: 'failed',
    cause: 'miss_deadline',
    result: null,
    error,
    receipt_seq: seq,
    obligation_open: false,
    dead_letter: false,
  })
  return 'failed'
}
