import { z } from 'zod'
import type { Relationship } from '../../core/command.ts'
import { PRINCIPAL_KINDS, type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoOrNull } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedOrNull } from '../../engine/stored-json.ts'
import type { Store } from '../../store/store.ts'
import { VERSION } from '../../util/version.ts'
import { defineOperation } from '../define-operation.ts'
import { json, time } from '../input.ts'
import { ledgerOf } from '../receipts/shared-ledger.ts'

const version = z.string().describe('Version of AsyncGate')
const instanceId = z.string().describe('Name of the server instance that answered, as configured')

export const serverShape = z.object({
  name: z.literal('AsyncGate').describe('Product name'),
  version,
  instance_id: instanceId,
  environment: z.string().describe('The configured environment: development, staging or production'),
  uptime: z.int().describe('Seconds since the server started'),
})

export function serverView(
  engine: Pick<Engine, 'settings' | 'startedAt'>,
  environment: string,
): z.output<typeof serverShape> {
  return {
    name: 'AsyncGate',
    version: VERSION,
    instance_id: engine.settings.instance_id,
    environment,
    uptime: Math.floor((Date.now() - engine.startedAt) / 1000),
  }
}

export const getConfig = defineOperation({
  name: 'get_config',
  title: 'Get the server configuration',
  description:
    'Version, instance, receipt mode and capabilities of this server. The response never contains a secret.',
  input: z.strictObject({}),
  output: z.object({
    receipt_mode: z
      .enum(['standalone', 'receiptgate_integrated'])
      .describe('Where receipts are stored: in the own database, or in a shared ReceiptGate'),
    receiptgate_endpoint: z.string().nullable().describe('URL of the ReceiptGate; null if there is none'),
    memorygate_url: z.string().nullable().describe('URL of the MemoryGate; null if there is none'),
    instance_id: instanceId,
    capabilities: z.array(z.string()).readonly().describe('Names of the features that this server supports'),
    version,
  }),
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/config' },
  async run({ engine, sharedLedger }, caller) {
    const ledger = ledgerOf(sharedLedger, caller)
    const endpoint = ledger?.endpoint ?? null
    return {
      receipt_mode: ledger === undefined ? 'standalone' : 'receiptgate_integrated',
      receiptgate_endpoint: endpoint,
      memorygate_url: endpoint,
      instance_id: engine.settings.instance_id,
      capabilities: ['lease_based_execution', 'receipt_emission', 'obligations', 'long_polling'],
      version: VERSION,
    } as const
  },
})

const healthShape = z.object({
  status: z.enum(['healthy', 'unhealthy']).describe('Whether the server can serve requests'),
  version,
  checks: z
    .object({ database: z.enum(['ok', 'failing']).describe('Whether the database responds to queries') })
    .describe('Result of each check'),
})

export type HealthView = z.output<typeof healthShape>

export const health = defineOperation({
  name: 'health',
  title: 'Health',
  description: 'Whether the server and its database can serve requests.',
  input: z.strictObject({}),
  output: healthShape,
  access: 'read',
  toolsets: ['operator'],
  rest: { method: 'GET', path: '/v1/health' },
  run: ({ engine }) => checkHealth(engine.store),
})

/** The response is public, so it contains no details of a failure. */
export async function checkHealth(store: Pick<Store, 'ping'>): Promise<HealthView> {
  const database = await store.ping().then(
    () => 'ok' as const,
    () => 'failing' as const,
  )
  return { status: database === 'ok' ? 'healthy' : 'unhealthy', version: VERSION, checks: { database } }
}

/** The record of the contacts between a principal and this server. */
export const relationshipShape = z.object({
  principal_kind: z.enum(PRINCIPAL_KINDS).describe('Kind of the principal'),
  principal_id: z.string().describe('Id of the principal'),
  first_seen_at: time.nullable().describe('When the principal first called bootstrap; null if it never did'),
  last_seen_at: time.nullable().describe('When the principal last called bootstrap; null if it never did'),
  sessions_count: z
    .int()
    .describe('Number of sessions: one per agent instance, and another after 30 minutes without a call'),
  agent_instance_id: z.string().nullable().describe('The instance that called bootstrap last'),
  agent_version: z.string().nullable().describe('The version that the principal last reported'),
  client_capabilities: json.describe(
    'The capabilities that the principal last reported; null if it never did',
  ),
})

export function relationshipView(
  key: PrincipalKey,
  known: Relationship | undefined,
): z.output<typeof relationshipShape> {
  const { kind, id } = parsePrincipalKey(key)
  return {
    principal_kind: kind,
    principal_id: id,
    first_seen_at: isoOrNull(known?.first_seen_at ?? null),
    last_seen_at: isoOrNull(known?.last_seen_at ?? null),
    sessions_count: known?.sessions_count ?? 0,
    agent_instance_id: known?.instance_id ?? null,
    agent_version: known?.agent_version ?? null,
    client_capabilities: storedOrNull(known?.client_capabilities ?? null),
  }
}
