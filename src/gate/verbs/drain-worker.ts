import { z } from 'zod'
import { checkRole } from '../../core/policy.ts'
import type { Caller } from '../../core/principal.ts'
import type { Engine } from '../engine.ts'
import { parse, workerId } from '../input.ts'

export const drainWorkerInput = z.strictObject({ worker_id: workerId, drain: z.boolean().default(true) })

/** Tells a worker to stop with its next answer, or lets it go on. */
export async function drainWorker(engine: Engine, caller: Caller, input: unknown) {
  checkRole(caller, 'manage')
  const { worker_id, drain } = parse(drainWorkerInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  await engine.workers.drain(tenant, worker_id, drain)
  return { worker_id, drain }
}
