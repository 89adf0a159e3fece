import { z } from 'zod'
import { canonical, canonicalWithin } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import { defineOperation, WRITES_ONCE } from '../define-operation.ts'
import { time } from '../fields.ts'
import { jsonObject, leaseFields, ONE_YEAR, seconds } from '../input.ts'
import { mayRedact, redactorOf } from '../policies/results.ts'
import { leaseCall } from './lease-call.ts'
import { EXAMPLE_LEASE, ok } from './shape.ts'

const MAX_ERROR_BYTES = 16 * 1024

export const fail = defineOperation({
  name: 'fail',
  title: 'Report a failure',
  description:
    'For workers: reports that the work failed. With retryable: true the task is retried while attempts are left, after its backoff or retry_after_seconds; otherwise it has failed permanently.',
  input: z.strictObject({
    ...leaseFields,
    error: jsonObject.describe('What went wrong, by convention with code and message; at most 16 KiB'),
    retryable: z.boolean().optional().describe('Whether another attempt may succeed; false if absent'),
    retry_after_seconds: seconds(ONE_YEAR)
      .optional()
      .describe('Seconds before the next attempt, instead of the backoff of the task'),
  }),
  output: z.object({
    ok,
    requeued: z.boolean().describe('Whether the task will be retried'),
    next_eligible_at: time
      .optional()
      .describe('Time before which it cannot be claimed again; absent if it can be now'),
    receipt_id: z.string().describe('The receipt that records the failure'),
  }),
  actor: 'worker',
  access: 'lease',
  rest: { method: 'POST', path: '/v1/tasks/{task_id}/fail' },
  effect: WRITES_ONCE,
  example: {
    ...EXAMPLE_LEASE,
    error: { code: 'UPSTREAM_TIMEOUT', message: 'The model did not answer.' },
    retryable: true,
  },
  async run({ engine, workers, policies, upstreams }, caller, input) {
    const lease = await leaseCall({ engine, workers }, caller, input)
    const tenant = await engine.tenant(caller.tenant)
    let error = canonicalWithin(input.error, 'error', MAX_ERROR_BYTES)
    if (mayRedact({ policies }, lease.tenant)) {
      const redactor = await redactorOf({ engine, policies, upstreams }, tenant, lease.task_id)
      error = canonical(redactor.object(input.error))
    }
    const { requeued, next_eligible_at, seq } = await engine.submit({
      verb: 'fail',
      error,
      retryable: input.retryable ?? false,
      retry_after_ms: input.retry_after_seconds === undefined ? null : input.retry_after_seconds * 1000,
      ...lease,
    })
    workers.failed(lease)
    return {
      ok: true,
      requeued,
      ...(next_eligible_at !== null && { next_eligible_at: isoTime(next_eligible_at) }),
      receipt_id: engine.receiptId(tenant, seq),
    } as const
  },
})
