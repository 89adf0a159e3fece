import { Fault } from '../core/errors.ts'
import { type Params, Router } from '../http/router.ts'
import { approvalRoutes } from './approvals.ts'
import { policyRoutes } from './policies.ts'
import { type ConsoleRoute, redirect } from './reply.ts'
import { sessionRoutes } from './sessions.ts'
import { taskRoutes } from './tasks.ts'
import { upstreamRoutes } from './upstreams.ts'

/** Routes with a literal segment stand before those that have a parameter in its place. */
const router = new Router<ConsoleRoute>([
  { method: 'GET', path: '', handle: async () => redirect('/console/approvals') },
  ...approvalRoutes,
  ...taskRoutes,
  ...sessionRoutes,
  ...upstreamRoutes,
  ...policyRoutes,
])

export function findRoute(
  method: string,
  path: string,
): { readonly route: ConsoleRoute; readonly params: Params } {
  const found = router.find(method, `/${segmentsOf(path).join('/')}`.replace(/^\/$/, ''))
  if (found !== undefined && 'route' in found) return found
  const page = found !== undefined && (method === 'GET' || method === 'HEAD') ? pageOf(path) : undefined
  if (page !== undefined) {
    return { route: { method: 'GET', path: '', handle: async () => redirect(page) }, params: {} }
  }
  throw new Fault(found === undefined ? 'NOT_FOUND' : 'METHOD_NOT_ALLOWED')
}

/** The nearest page at or above a path: the page that has the form which is sent to this path. */
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
