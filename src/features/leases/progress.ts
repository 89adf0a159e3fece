import { z } from 'zod'
import { canonical, canonicalWithin } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { jsonObject, leaseFields, ONE_YEAR, parse, seconds } from '../input.ts'
import { keptOf, mayRedact } from '../policies/results.ts'
import type { Services } from '../services.ts'
import { leaseCall, leaseMs } from './lease-call.ts'
import { isNamedMilestone } from './milestones.ts'

const MAX_PROGRESS_BYTES = 16 * 1024

const NO_PERCENT = { code: 'custom', message: 'is not a number from 0 to 100' } as const

export const progressInput = z.strictObject({
  ...leaseFields,
  progress: jsonObject.superRefine(({ percent }, context) => {
    const isPercent = typeof percent === 'number' && percent >= 0 && percent <= 100
    if (percent !== undefined && !isPercent) context.addIssue({ path: ['percent'], ...NO_PERCENT })
  }),
  extend_by_seconds: seconds(ONE_YEAR, 1).optional(),
  milestone: z.boolean().optional().meta({
    description:
      'True: worth the attention of the owner, so the report goes to its inbox. If absent, the milestones of the task type decide',
  }),
})

export interface ProgressAnswer {
  readonly ok: true
  readonly expires_at: string
  readonly expires_in_ms: number
  readonly drain?: true
}

export async function progress(engine: Services, caller: Caller, input: unknown): Promise<ProgressAnswer> {
  const asked = parse(progressInput, input)
  const lease = await leaseCall(engine, caller, asked)
  let said = canonicalWithin(asked.progress, 'progress', MAX_PROGRESS_BYTES)
  if (mayRedact(engine, lease.tenant)) {
    const kept = await keptOf(engine, await engine.tenant(caller.tenant), lease.task_id)
    const { percent } = asked.progress
    said = canonical({ ...kept.object(asked.progress), percent })
  }
  const milestone =
    asked.milestone ?? (await isNamedMilestone(engine, lease.tenant, lease.task_id, asked.progress))
  const { expires_at, now } = await engine.submit({
    verb: 'progress',
    progress: said,
    milestone,
    extend_ms: asked.extend_by_seconds === undefined ? null : leaseMs(engine, asked.extend_by_seconds),
    ...lease,
  })
  engine.workers.saw(lease)
  const drain = engine.workers.drains.has(lease.tenant, lease.worker_id)
  return {
    ok: true,
    expires_at: isoTime(expires_at),
    expires_in_ms: expires_at - now,
    ...(drain && { drain: true }),
  }
}
