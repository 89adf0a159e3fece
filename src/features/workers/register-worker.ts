import { z } from 'zod'
import { checkRole } from '../../core/authorization.ts'
import { canonicalWithin } from '../../core/json/json.ts'
import { type Caller, principalKey } from '../../core/principal.ts'
import { jsonObject, parse, text, workerId } from '../input.ts'
import type { Services } from '../services.ts'

const MAX_CONFIG_BYTES = 4 * 1024

export const registerWorkerInput = z.strictObject({
  worker_id: workerId,
  worker_type: text(64).optional(),
  capabilities: z.array(text(128)).max(100).optional(),
  accept_types: z.array(text(255)).max(200).optional(),
  config: jsonObject.optional().meta({ description: 'Shown to admins: no secrets' }),
})

export interface HeartbeatAnswer {
  readonly ok: true
  /** How often a worker without work should say that it is there. */
  readonly heartbeat_seconds: number
  readonly drain?: true
}

/** A worker makes itself known before its first claim, which would do the same. */
export async function registerWorker(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<HeartbeatAnswer> {
  checkRole(caller, 'lease')
  const { worker_id, config, ...profile } = parse(registerWorkerInput, input)
  if (config !== undefined) canonicalWithin(config, 'config', MAX_CONFIG_BYTES)
  const { tenant } = await engine.tenant(caller.tenant)
  const call = { tenant, worker_id, holder: principalKey(caller.principal) }
  const { instance_id } = caller.principal
  await engine.workers.register(call, { ...profile, config, instance_id })
  return answer(engine, tenant, worker_id)
}

export const workerInput = z.strictObject({ worker_id: workerId })

/** A worker without work is still there. */
export async function workerHeartbeat(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<HeartbeatAnswer> {
  checkRole(caller, 'lease')
  const { worker_id } = parse(workerInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  const { instance_id } = caller.principal
  engine.workers.saw({ tenant, worker_id, holder: principalKey(caller.principal) }, { instance_id })
  return answer(engine, tenant, worker_id)
}

/** A worker goes for good. The leases that it holds stay its own until they lapse. */
export async function unregisterWorker(
  engine: Services,
  caller: Caller,
  input: unknown,
): Promise<{ ok: true }> {
  checkRole(caller, 'lease')
  const { worker_id } = parse(workerInput, input)
  const { tenant } = await engine.tenant(caller.tenant)
  await engine.workers.unregister(tenant, worker_id, caller)
  return { ok: true }
}

async function answer(engine: Services, tenant: number, worker_id: string): Promise<HeartbeatAnswer> {
  const { drains } = engine.workers
  const draining = drains.known(tenant) ?? (await drains.load(tenant))
  return {
    ok: true,
    heartbeat_seconds: Math.max(1, Math.floor(engine.settings.worker_offline_seconds / 3)),
    ...(draining.has(worker_id) && { drain: true }),
  }
}
