import { z } from 'zod'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { leaseFields, ONE_YEAR, parse, seconds } from '../input.ts'
import type { Services } from '../services.ts'
import { leaseCall, leaseMs } from './lease-call.ts'

export const renewInput = z.strictObject({
  ...leaseFields,
  extend_by_seconds: seconds(ONE_YEAR, 1).optional(),
})

export interface RenewAnswer {
  readonly ok: true
  readonly expires_at: string
  readonly expires_in_ms: number
  readonly renewals_left: number
  readonly drain?: true
}

export async function renew(engine: Services, caller: Caller, input: unknown): Promise<RenewAnswer> {
  const asked = parse(renewInput, input)
  const lease = await leaseCall(engine, caller, asked)
  const extend_ms = leaseMs(engine, asked.extend_by_seconds)
  const { expires_at, renewals_left, now } = await engine.submit({ verb: 'renew', extend_ms, ...lease })
  engine.workers.saw(lease)
  const expires_in_ms = expires_at - now
  if (engine.workers.drains.has(lease.tenant, lease.worker_id)) {
    return { ok: true, expires_at: isoTime(expires_at), expires_in_ms, renewals_left, drain: true }
  }
  return { ok: true, expires_at: isoTime(expires_at), expires_in_ms, renewals_left }
}
