import { z } from 'zod'
import type { Caller } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import { leaseFields, parse } from '../input.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

export const startInput = z.strictObject(leaseFields)

export async function start(engine: Services, caller: Caller, input: unknown) {
  const lease = await leaseCall(engine, caller, parse(startInput, input))
  const { status, started_at } = await engine.submit({ verb: 'start', ...lease })
  return { ok: true, status, started_at: isoTime(started_at) } as const
}
