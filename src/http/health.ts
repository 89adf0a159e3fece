import type { Gate } from '../features/gate.ts'
import type { HealthView } from '../features/server/server.ts'
import { VERSION } from '../util/version.ts'
import type { Route } from './router.ts'

/** A database that takes longer is as good as gone. */
const PATIENCE_MS = 2000

/** Asked by probes that have no key and know the server by its address only. */
export function healthRoutes(gate: Gate, isStopping: () => boolean): Route[] {
  const route = (path: string, handle: Route['handle']): Route => ({
    method: 'GET',
    path,
    quiet: true,
    handle,
  })
  const health = route('/health', async (exchange) => {
    const view = await check(gate)
    exchange.json(statusOf(view), view)
  })
  return [
    health,
    { ...health, path: '/v1/health' },
    route('/health/live', (exchange) => {
      exchange.json(200, { status: 'healthy', version: VERSION, checks: {} })
    }),
    route('/health/ready', async (exchange) => {
      if (isStopping()) {
        exchange.json(503, { status: 'unhealthy', version: VERSION, checks: { server: 'stopping' } })
        return
      }
      const view = await check(gate)
      exchange.json(statusOf(view), view)
    }),
  ]
}

function statusOf({ status }: HealthView): number {
  return status === 'healthy' ? 200 : 503
}

async function check(gate: Gate): Promise<HealthView> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<HealthView>((resolve) => {
    const checks = { database: 'failing' } as const
    timer = setTimeout(() => resolve({ status: 'unhealthy', version: VERSION, checks }), PATIENCE_MS)
  })
  try {
    return await Promise.race([gate.checkHealth(), late])
  } finally {
    clearTimeout(timer)
  }
}
