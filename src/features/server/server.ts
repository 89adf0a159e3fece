import { z } from 'zod'
import type { Caller } from '../../core/principal.ts'
import { VERSION } from '../../util/version.ts'
import { parse } from '../input.ts'
import type { Services } from '../services.ts'

export const noInput = z.strictObject({})

export const configShape = z.object({
  receipt_mode: z.enum(['standalone', 'receiptgate_integrated']),
  receiptgate_endpoint: z.string().nullable(),
  memorygate_url: z.string().nullable(),
  instance_id: z.string(),
  capabilities: z.array(z.string()).readonly(),
  version: z.string(),
})

export type ConfigView = z.output<typeof configShape>

/** What a client may know of how this server is set up; never a secret. */
export async function getConfig(engine: Services, _caller: Caller, input: unknown): Promise<ConfigView> {
  parse(noInput, input)
  return {
    receipt_mode: 'standalone',
    receiptgate_endpoint: null,
    memorygate_url: null,
    instance_id: engine.settings.instance_id,
    capabilities: ['lease_based_execution', 'receipt_emission', 'obligations', 'long_polling'],
    version: VERSION,
  }
}

export const healthShape = z.object({
  status: z.enum(['healthy', 'unhealthy']),
  version: z.string(),
  checks: z.object({ database: z.enum(['ok', 'failing']) }),
})

export type HealthView = z.output<typeof healthShape>

/** Whether requests can be served. It says nothing that would help an attacker. */
export async function health(engine: Services): Promise<HealthView> {
  const database = await engine.store.ping().then(
    () => 'ok' as const,
    () => 'failing' as const,
  )
  return { status: database === 'ok' ? 'healthy' : 'unhealthy', version: VERSION, checks: { database } }
}
