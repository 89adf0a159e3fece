import { Fault } from '../core/errors.ts'
import { type Params, Router } from '../http/router.ts'
import { agentRoutes } from './pages/agents.ts'
import { approvalRoutes } from './pages/approvals.ts'
import { auditRoutes } from './pages/audit.ts'
import { findRoutes } from './pages/find.ts'
import { identityRoutes } from './pages/identities.ts'
import { keyRoutes } from './pages/keys.ts'
import { limitsRoutes } from './pages/limits.ts'
import { oauthClientRoutes } from './pages/oauth-clients.ts'
import { overviewRoutes } from './pages/overview.ts'
import { policyRoutes } from './pages/policies.ts'
import { receiptRoutes } from './pages/receipts.ts'
import { retentionRoutes } from './pages/retention.ts'
import { scheduleRoutes } from './pages/schedules.ts'
import { sessionRoutes } from './pages/sessions.ts'
import { taskRoutes } from './pages/tasks.ts'
import { typeRoutes } from './pages/types.ts'
import { upstreamRoutes } from './pages/upstreams.ts'
import { usageRoutes } from './pages/usage.ts'
import { workerRoutes } from './pages/workers.ts'
import { type ConsoleRoute, page, redirect } from './visit.ts'

export const CONSOLE_ROUTES: readonly ConsoleRoute[] = [
  ...overviewRoutes,
  ...findRoutes,
  ...approvalRoutes,
  ...taskRoutes,
  ...scheduleRoutes,
  ...typeRoutes,
  ...agentRoutes,
  ...workerRoutes,
  ...sessionRoutes,
  ...upstreamRoutes,
  ...policyRoutes,
  ...keyRoutes,
  ...oauthClientRoutes,
  ...identityRoutes,
  ...limitsRoutes,
  ...receiptRoutes,
  ...auditRoutes,
  ...usageRoutes,
  ...retentionRoutes,
]

const router = new Router(CONSOLE_ROUTES)

export function findRoute(
  method: string,
  path: string,
): { readonly route: ConsoleRoute; readonly params: Params } {
  const found = router.find(method, `/${segmentsOf(path).join('/')}`.replace(/^\/$/, ''))
  if (found !== undefined && 'route' in found) return found
  const above = found !== undefined && (method === 'GET' || method === 'HEAD') ? pageOf(path) : undefined
  if (above !== undefined) return { route: page('', async () => redirect(above)), params: {} }
  throw new Fault(found === undefined ? 'NOT_FOUND' : 'METHOD_NOT_ALLOWED')
}

/** The route of the page at a path, if there is one. */
export function findPage(path: string): ConsoleRoute | undefined {
  const found = router.find('GET', `/${segmentsOf(path).join('/')}`.replace(/^\/$/, ''))
  return found !== undefined && 'route' in found ? found.route : undefined
}

/** The nearest page at or above a path: the page whose form is sent to this path. */
export function pageOf(path: string): string | undefined {
  const segments = segmentsOf(path)
  for (let length = segments.length; length > 0; length--) {
    const above = `/${segments.slice(0, length).join('/')}`
    const found = router.find('GET', above)
    if (found !== undefined && 'route' in found) return `/console${above}`
  }
  return undefined
}

function segmentsOf(path: string): readonly string[] {
  return path.slice('/console'.length).split('/').filter(Boolean)
}
