import { z } from 'zod'
import { canonical, canonicalWithin } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { jsonObject, leaseFields, ONE_YEAR, parse, seconds } from '../input.ts'
import { keptOf, mayRedact } from '../policies/results.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

const MAX_ERROR_BYTES = 16 * 1024

export const failInput = z.strictObject({
  ...leaseFields,
  error: jsonObject,
  retryable: z.boolean().optional(),
  /** When to try again, instead of the task's backoff. */
  retry_after_seconds: seconds(ONE_YEAR).optional(),
})

export interface FailAnswer {
  readonly ok: true
  readonly requeued: boolean
  readonly next_eligible_at?: string
  readonly receipt_id: string
}

export async function fail(engine: Services, caller: Caller, input: unknown): Promise<FailAnswer> {
  const asked = parse(failInput, input)
  const lease = await leaseCall(engine, caller, asked)
  let error = canonicalWithin(asked.error, 'error', MAX_ERROR_BYTES)
  if (mayRedact(engine, lease.tenant)) {
    const kept = await keptOf(engine, await engine.tenant(caller.tenant), lease.task_id)
    error = canonical(kept.object(asked.error))
  }
  const { requeued, next_eligible_at, seq } = await engine.submit({
    verb: 'fail',
    error,
    retryable: asked.retryable ?? false,
    retry_after_ms: asked.retry_after_seconds === undefined ? null : asked.retry_after_seconds * 1000,
    ...lease,
  })
  engine.workers.failed(lease)
  const tenant = await engine.tenant(caller.tenant)
  return {
    ok: true,
    requeued,
    ...(next_eligible_at !== null && { next_eligible_at: isoTime(next_eligible_at) }),
    receipt_id: engine.receiptId(tenant, seq),
  }
}
