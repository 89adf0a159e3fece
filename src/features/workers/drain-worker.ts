import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import type { Caller } from '../../core/principal.ts'
import { parse, workerId } from '../input.ts'
import type { Services } from '../services.ts'

export const drainWorkerInput = z.strictObject({ worker_id: workerId, drain: z.boolean().default(true) })

/** Tells a worker to stop with its next answer, or lets it go on. */
export async function drainWorker(engine: Services, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { worker_id, drain } = parse(drainWorkerInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  await engine.workers.drain(tenant, worker_id, drain)
  return { worker_id, drain }
}
