import { z } from 'zod'
import type { Caller } from '../../core/principal.ts'
import { leaseFields, parse } from '../input.ts'
import type { Services } from '../services.ts'
import { leaseCall } from './lease-call.ts'

export const releaseInput = z.strictObject(leaseFields)

export async function release(engine: Services, caller: Caller, input: unknown) {
  const lease = await leaseCall(engine, caller, parse(releaseInput, input))
  await engine.submit({ verb: 'release', ...lease })
  return { ok: true, status: 'queued' } as const
}
