import { z } from 'zod'
import type { BoundCredential } from '../auth/credential.ts'
import { forbidden, seesAll } from '../core/authorization.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { HealthView } from '../features/server/server.ts'
import { VERSION } from '../util/version.ts'
import { admit } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import type { Exchange } from './exchange.ts'

/** A database that takes longer to respond counts as unavailable. */
const DATABASE_TIMEOUT_MS = 2000

const probeResponse = z.object({
  status: z.enum(['healthy', 'unhealthy']),
  version: z.string(),
  checks: z.object({}),
})

type Probe = Pick<Endpoint, 'name' | 'title' | 'path' | 'handle'>

/** Probes have no key and know the server only by its address. */
function probe(definition: Probe): Endpoint {
  return {
    ...definition,
    tag: 'server',
    method: 'GET',
    quiet: true,
    isPublic: true,
    responses: {
      200: { description: 'Healthy', content: probeResponse },
      503: { description: 'Unhealthy', content: probeResponse },
    },
    errors: [],
  }
}

export const monitoringEndpoints: readonly Endpoint[] = [
  probe({
    name: 'health_check',
    title: 'Health of the server and its database',
    path: '/health',
    handle: ({ gate }, exchange) => respondHealth(gate, exchange),
  }),
  probe({
    name: 'health_live',
    title: 'Liveness: the process responds',
    path: '/health/live',
    handle(_, exchange) {
      exchange.json(200, { status: 'healthy', version: VERSION, checks: {} })
    },
  }),
  probe({
    name: 'health_ready',
    title: 'Readiness: the server accepts requests and is not shutting down',
    path: '/health/ready',
    async handle({ gate, isStopping }, exchange) {
      if (!isStopping()) return respondHealth(gate, exchange)
      exchange.json(503, { status: 'unhealthy', version: VERSION, checks: { server: 'stopping' } })
    },
  }),
  {
    name: 'metrics',
    tag: 'server',
    title: 'Prometheus metrics',
    description: 'Metrics of all tenants, so a key that belongs to a person must be an admin key.',
    method: 'GET',
    path: '/metrics',
    quiet: true,
    responses: {
      200: {
        description: 'The Prometheus text format',
        content: { mediaTypes: { 'text/plain': { type: 'string' } } },
      },
    },
    errors: [401, 403],
    async handle(context, exchange) {
      const { metrics } = context
      const credential = await admit(context, exchange)
      if (credential.kind === 'bound') checkOperator(credential)
      exchange.send(200, metrics.contentType, await metrics.text())
    },
  },
]

/** Also the handler of the operation `health`, which needs no key over HTTP. */
export async function respondHealth(gate: Gate, exchange: Exchange): Promise<void> {
  const view = await checkHealth(gate)
  exchange.json(view.status === 'healthy' ? 200 : 503, view)
}

async function checkHealth(gate: Gate): Promise<HealthView> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<HealthView>((resolve) => {
    const checks = { database: 'failing' } as const
    timer = setTimeout(() => resolve({ status: 'unhealthy', version: VERSION, checks }), DATABASE_TIMEOUT_MS)
  })
  try {
    return await Promise.race([gate.checkHealth(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** The metrics are those of the whole server, so only its own tenant may read them. */
function checkOperator({ tenant, role }: BoundCredential): void {
  if (tenant !== DEFAULT_TENANT || !seesAll(role)) throw forbidden('admin', role)
}
