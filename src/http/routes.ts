import type { IncomingMessage, ServerResponse } from 'node:http'
import { forbidden, seesAll } from '../core/authorization.ts'
import { OPERATIONS } from '../features/catalogue.ts'
import type { InboundMail } from '../features/email/email.ts'
import { admit, type Context } from './context.ts'
import type { EventStreams } from './events.ts'
import { checkHostAndOrigin } from './guard.ts'
import { healthRoutes } from './health.ts'
import { inboundEmailRoute } from './inbound-email.ts'
import { leaseProtocol } from './lease-protocol.ts'
import { docsPage } from './openapi/docs-page.ts'
import { openApi } from './openapi/openapi.ts'
import { restRoute } from './rest.ts'
import { resultRoutes } from './result-content.ts'
import type { Route } from './router.ts'
import { workerPort } from './worker-port.ts'

interface Surroundings {
  isStopping(): boolean
  mcp?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  console?: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  inboundMail?: InboundMail
}

export function allRoutes(context: Context, streams: EventStreams, around: Surroundings): Route[] {
  const health = healthRoutes(context.gate, around.isStopping)
  const taken = new Set(health.map((route) => route.path))
  const operations = OPERATIONS.filter((operation) => !taken.has(operation.rest.path))
  return [
    ...operations.map((operation) => restRoute(context, operation)),
    ...health,
    ...leaseProtocol(context),
    ...workerPort(context),
    ...resultRoutes(context),
    streams.route(context),
    metricsRoute(context, streams),
    inboundEmailRoute(context, around.inboundMail),
    rootRoute(context, around),
    ...documentRoutes(context),
    ...mcpRoutes(around),
    ...consoleRoutes(around),
  ]
}

/** Figures of all tenants, so not for everybody. */
function metricsRoute(context: Context, streams: EventStreams): Route {
  const { metrics, held } = context
  return {
    method: 'GET',
    path: '/metrics',
    quiet: true,
    async handle(exchange) {
      const credential = admit(context, exchange)
      if (credential.kind === 'bound' && !seesAll(credential.role)) throw forbidden('admin', credential.role)
      exchange.send(200, metrics.contentType, await metrics.text(held.count, streams.count))
    },
  }
}

/** Where to go from here: people to the console, programs to what describes the server. */
function rootRoute({ guard }: Context, { mcp, console }: Surroundings): Route {
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

/** What anybody may know who can reach the server. */
function documentRoutes({ guard }: Context): Route[] {
  let document: string | undefined
  let page: ReturnType<typeof docsPage> | undefined
  return [
    {
      method: 'GET',
      path: '/openapi.json',
      handle(exchange) {
        checkHostAndOrigin(exchange.request.headers, guard)
        document ??= JSON.stringify(openApi())
        exchange.send(200, 'application/json', document)
      },
    },
    {
      method: 'GET',
      path: '/docs',
      handle(exchange) {
        checkHostAndOrigin(exchange.request.headers, guard)
        page ??= docsPage(openApi())
        exchange.send(200, 'text/html; charset=utf-8', page.html, {
          'Content-Security-Policy': page.policy,
          'X-Frame-Options': 'DENY',
        })
      },
    },
  ]
}

function mcpRoutes({ mcp }: Surroundings): Route[] {
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

/** The pages for people find their own way below /console. */
function consoleRoutes({ console }: Surroundings): Route[] {
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
