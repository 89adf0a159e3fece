import { z } from 'zod'
import { isoTime } from '../../core/time.ts'
import type { Handout } from '../../engine/commit-queue.ts'
import { time } from '../input.ts'
import { answerShape, answerView, payloadOf } from '../questions/view.ts'
import { workShape } from '../tasks/shape.ts'
import { storedInput } from '../tasks/task-input.ts'
import { factsOf, workOf } from '../tasks/work.ts'
import { contractFields } from './worker-contract.ts'

export const ok = z.literal(true).describe('Always true; failures are errors')

export const expiryFields = {
  expires_at: time.describe('Time at which the lease expires, on the clock of the server'),
  expires_in_ms: z.int().describe('Milliseconds until the lease expires, so that clocks need not agree'),
}

export const drainField = {
  drain: z
    .literal(true)
    .optional()
    .describe(
      'Present if an operator is draining the worker: finish the tasks that you hold, and stop claiming',
    ),
}

/** A task that was leased to a worker. */
export const offerShape = z.object({
  task_id: z.string().describe('Id of the task'),
  lease_id: z.string().describe('Id of the lease. Keep it secret: it authorizes calls about the task'),
  fence: z.int().describe('Fencing token: higher than that of every earlier lease of the task'),
  ...workShape.shape,
  attempt: z.int().describe('Number of earlier attempts that failed'),
  ...expiryFields,
  answers: z
    .array(answerShape)
    .readonly()
    .optional()
    .describe('Closed questions about this task, oldest first; present if there are any'),
  ...contractFields,
})

export type OfferView = z.output<typeof offerShape>

/** The fields of a lease, for example requests. */
export const EXAMPLE_LEASE = {
  worker_id: 'w1',
  task_id: '0197d7a4-31c0-7c4e-9f6b-0d5a3f1e2b4c',
  lease_id: '5f40b7ca-2933-4136-aa7c-b3cd5b9de299',
}

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
