import { z } from 'zod'
import { canonicalWithin } from '../../core/json.ts'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../engine.ts'
import { json, leaseFields, ONE_YEAR, parse, seconds } from '../input.ts'
import { leaseCall, leaseMs } from '../lease-call.ts'

const MAX_PROGRESS_BYTES = 16 * 1024

export const progressInput = z.strictObject({
  ...leaseFields,
  progress: z.looseObject({ percent: z.number().min(0).max(100).optional(), message: json.optional() }),
  extend_by_seconds: seconds(ONE_YEAR, 1).optional(),
})

export async function progress(engine: Engine, caller: Caller, input: unknown) {
  const asked = parse(progressInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const { expires_at, now } = await engine.submit({
    verb: 'progress',
    progress: canonicalWithin(asked.progress, 'progress', MAX_PROGRESS_BYTES),
    extend_ms: asked.extend_by_seconds === undefined ? null : leaseMs(engine, asked.extend_by_seconds),
    ...lease,
  })
  return { ok: true, expires_at: isoTime(expires_at), expires_in_ms: expires_at - now } as const
}
