import { z } from 'zod'
import { CANCEL_STAGES } from '../../core/cancellation.ts'
import type { Caller } from '../../core/principal.ts'
import { isoOrNull } from '../../core/time.ts'
import { leaseFields, parse } from '../input.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

export const reportCancelInput = z.strictObject({ ...leaseFields, stage: z.enum(CANCEL_STAGES) })

export interface ReportCancelAnswer {
  readonly ok: true
  readonly acknowledged_at: string | null
  readonly stopped_at: string | null
}

/** A worker says that it has heard of a cancel, or that its work has stopped. The rules are in core/cancellation.ts. */
export async function reportCancel(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<ReportCancelAnswer> {
  const { stage, ...asked } = parse(reportCancelInput, input)
  const call = await leaseCall(engine, caller, asked)
  const { acknowledged_at, stopped_at } = await engine.cancellations.report(call, stage)
  return { ok: true, acknowledged_at: isoOrNull(acknowledged_at), stopped_at: isoOrNull(stopped_at) }
}
