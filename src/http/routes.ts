import type { IncomingMessage, ServerResponse } from 'node:http'
import { OPERATIONS } from '../features/catalogue.ts'
import type { Operation } from '../features/define-operation.ts'
import type { Context } from './context.ts'
import { type Endpoint, type EndpointContext, endpointRoute } from './endpoint.ts'
import { eventsEndpoint } from './events.ts'
import { checkHostAndOrigin } from './guard.ts'
import { inboundEmail } from './inbound-email.ts'
import { leaseProtocol } from './lease-protocol.ts'
import { monitoringEndpoints, respondHealth } from './monitoring.ts'
import { docsPage } from './openapi/docs-page.ts'
import { openApi } from './openapi/openapi.ts'
import { restRoute } from './rest.ts'
import { resultEndpoints } from './result-content.ts'
import type { Route } from './router.ts'
import { workerPort } from './worker-port.ts'

/** Handlers of paths that have a router of their own. */
export interface Mounted {
  readonly mcp?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly console?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
}

/** Routes that are no operations of the catalogue. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...monitoringEndpoints,
  eventsEndpoint,
  ...resultEndpoints,
  ...leaseProtocol,
  ...workerPort,
  inboundEmail,
]

export function allRoutes(
  context: EndpointContext,
  mounted: Mounted,
  operations: readonly Operation[] = OPERATIONS,
): Route[] {
  return [
    ...operations.map((operation) =>
      operation.name === 'health' ? healthRoute(context, operation) : restRoute(context, operation),
    ),
    ...ENDPOINTS.map((endpoint) => endpointRoute(context, endpoint)),
    rootRoute(context, mounted),
    ...documentRoutes(context, operations),
    ...mcpRoutes(mounted),
    ...consoleRoutes(mounted),
  ]
}

/** Over HTTP this operation needs no key, and its status code says the same as its body. */
function healthRoute({ gate }: EndpointContext, { rest }: Operation): Route {
  return { ...rest, quiet: true, handle: (exchange) => respondHealth(gate, exchange) }
}

/** Redirects browsers to the console, and tells programs where the documentation is. */
function rootRoute({ guard }: Context, { mcp, console }: Mounted): Route {
  const links = {
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/health',
    ...(mcp && { mcp: '/mcp' }),
    ...(console && { console: '/console' }),
  }
  return {
    method: 'GET',
    path: '/',
    handle(exchange) {
      const { headers } = exchange.request
      checkHostAndOrigin(headers, guard)
      exchange.response.setHeader('Vary', 'Accept')
      if (console !== undefined && /\btext\/html\b/i.test(headers.accept ?? '')) {
        exchange.send(302, 'text/plain; charset=utf-8', '', { Location: '/console' })
        return
      }
      exchange.json(200, { name: 'asyncgate', links })
    },
  }
}

/** The API documentation, which needs no key. */
function documentRoutes({ guard }: Context, operations: readonly Operation[]): Route[] {
  let document: string | undefined
  let page: ReturnType<typeof docsPage> | undefined
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      handle(exchange) {
        checkHostAndOrigin(exchange.request.headers, guard)
        document ??= JSON.stringify(openApi(operations, ENDPOINTS))
        exchange.send(200, 'application/json', document)
      },
    },
    {
      method: 'GET',
      path: '/docs',
      handle(exchange) {
        checkHostAndOrigin(exchange.request.headers, guard)
        page ??= docsPage(openApi(operations, ENDPOINTS))
        exchange.send(200, 'text/html; charset=utf-8', page.html, {
          'Content-Security-Policy': page.policy,
          'X-Frame-Options': 'DENY',
        })
      },
    },
  ]
}

function mcpRoutes({ mcp }: Mounted): Route[] {
  if (mcp === undefined) return []
  return [
    {
      method: 'ANY',
      path: '/mcp',
      handle({ request, response, id }) {
        response.setHeader('X-Request-Id', id)
        response.setHeader('X-Content-Type-Options', 'nosniff')
        return mcp(request, response)
      },
    },
  ]
}

/** The console has its own router below /console. */
function consoleRoutes({ console }: Mounted): Route[] {
  if (console === undefined) return []
  const paths = ['', '/', '/{page}', '/{page}/{item}', '/{page}/{item}/{action}']
  return paths.map((path) => ({
    method: 'ANY',
    path: `/console${path}`,
    handle({ request, response, id }) {
      response.setHeader('X-Request-Id', id)
      return console(request, response)
    },
  }))
}
