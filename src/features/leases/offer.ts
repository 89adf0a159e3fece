import { isoTime } from '../../core/time.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import { answerView, payloadOf } from '../questions/view.ts'
import { storedInput } from '../tasks/task-input.ts'
import { factsOf, workOf } from '../tasks/work.ts'
import type { OfferView } from './shape.ts'

/** A leased task, as its worker receives it. */
export function offerView({ task, lease, fence, spec, questions }: Handout, now: number): OfferView {
  const input = storedInput(spec.input)
  return {
    task_id: task.task_id,
    lease_id: lease.lease_id,
    fence,
    ...workOf(factsOf({ task, spec }), input, payloadOf(input, questions)),
    payload_pointer: input.payload_pointer ?? `inline://task/${task.task_id}`,
    attempt: task.attempt,
    expires_at: isoTime(lease.expires_at),
    expires_in_ms: lease.expires_at - now,
    answers: questions.length === 0 ? undefined : questions.map(answerView),
  }
}
