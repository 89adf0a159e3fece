import { Fault } from '../core/errors.ts'
import { approvalRoutes } from './approvals.ts'
import { policyRoutes } from './policies.ts'
import { type ConsoleRoute, redirect } from './reply.ts'
import { sessionRoutes } from './sessions.ts'
import { taskRoutes } from './tasks.ts'
import { upstreamRoutes } from './upstreams.ts'

const ROUTES: readonly ConsoleRoute[] = [
  { method: 'GET', path: '', handle: async () => redirect('/console/approvals') },
  ...approvalRoutes,
  ...taskRoutes,
  ...sessionRoutes,
  ...upstreamRoutes,
  ...policyRoutes,
]

const PATTERNS = ROUTES.map((route) => ({ route, segments: segmentsOf(route.path) }))

type Params = Readonly<Record<string, string>>

/** Routes with a literal segment stand before those that take any in its place. */
export function findRoute(
  method: string,
  path: string,
): { readonly route: ConsoleRoute; readonly params: Params } {
  const segments = segmentsOf(path.slice('/console'.length))
  const wanted = method === 'HEAD' ? 'GET' : method
  let isKnown = false
  for (const pattern of PATTERNS) {
    const params = match(pattern.segments, segments)
    if (params === undefined) continue
    if (pattern.route.method === wanted) return { route: pattern.route, params }
    isKnown = true
  }
  const page = isKnown && wanted === 'GET' ? pageOf(path) : undefined
  if (page !== undefined) {
    return { route: { method: 'GET', path: '', handle: async () => redirect(page) }, params: {} }
  }
  throw new Fault(isKnown ? 'METHOD_NOT_ALLOWED' : 'NOT_FOUND')
}

/** The page that has the form which is sent to this path: the nearest one above it. */
export function pageOf(path: string): string | undefined {
  const segments = segmentsOf(path.slice('/console'.length))
  for (let length = segments.length; length > 0; length--) {
    const above = segments.slice(0, length)
    const isPage = PATTERNS.some(
      ({ route, segments: pattern }) => route.method === 'GET' && match(pattern, above) !== undefined,
    )
    if (isPage) return `/console/${above.join('/')}`
  }
  return undefined
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function match(pattern: readonly string[], segments: readonly string[]): Params | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, expected] of pattern.entries()) {
    const segment = segments[i] ?? ''
    if (!expected.startsWith('{')) {
      if (segment !== expected) return undefined
      continue
    }
    params[expected.slice(1, -1)] = decode(segment)
  }
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new Fault('NOT_FOUND')
  }
}
