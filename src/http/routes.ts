import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESOURCE_METADATA, RESOURCE_PATHS } from '../auth/protected-resource.ts'
import { invalid } from '../core/errors.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import { OPERATIONS } from '../features/catalogue.ts'
import type { Operation } from '../features/define-operation.ts'
import type { Context } from './context.ts'
import { type Endpoint, type EndpointContext, endpointRoute } from './endpoint.ts'
import { eventsEndpoint } from './events.ts'
import type { Exchange } from './exchange.ts'
import { checkHostAndOrigin } from './guard.ts'
import { inboundEmail } from './inbound-email.ts'
import { leaseProtocol } from './lease-protocol.ts'
import { monitoringEndpoints, respondHealth } from './monitoring.ts'
import { oauthClients } from './oauth-clients.ts'
import { docsPage } from './openapi/docs-page.ts'
import { openApi } from './openapi/openapi.ts'
import { restRoute } from './rest.ts'
import { resultEndpoints } from './result-content.ts'
import type { Route } from './router.ts'
import { workerKeys } from './worker-keys.ts'
import { workerPort } from './worker-port.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Handlers of all methods of a path. */
export interface Mounted {
  readonly mcp?: Handler
  /** Also handles the paths below /console. */
  readonly console?: Handler
  /** The authorization server, below /oauth and at the paths of its metadata. */
  readonly oauth?: Handler
}

const LOG_KEY_PATH = '/.well-known/asyncgate-log-key'
const MAX_TENANT_LENGTH = 255

/** Routes that are not operations of the catalogue. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...monitoringEndpoints,
  eventsEndpoint,
  ...resultEndpoints,
  ...leaseProtocol,
  ...workerPort,
  ...workerKeys,
  oauthClients,
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
    ...resourceRoutes(context),
    logKeyRoute(context),
    ...mountedRoutes(mounted),
  ]
}

/** Over HTTP the operation health needs no key, and responds with status 503 if the server is unhealthy. */
function healthRoute({ gate }: EndpointContext, { rest }: Operation): Route {
  return { ...rest, quiet: true, handle: (exchange) => respondHealth(gate, exchange) }
}

/** A page or document that needs no key. */
function publicRoute(
  { guard }: Context,
  path: string,
  handle: (exchange: Exchange) => void | Promise<void>,
): Route {
  return {
    method: 'GET',
    path,
    handle(exchange) {
      checkHostAndOrigin(exchange.request.headers, guard)
      return handle(exchange)
    },
  }
}

/** Redirects browsers to the console. Programs receive links to the documentation. */
function rootRoute(context: Context, { mcp, console }: Mounted): Route {
  const links = {
    docs: '/docs',
    openapi: '/openapi.json',
    health: '/health',
    ...(mcp && { mcp: '/mcp' }),
    ...(console && { console: '/console' }),
  }
  return publicRoute(context, '/', (exchange) => {
    exchange.response.setHeader('Vary', 'Accept')
    if (console !== undefined && /\btext\/html\b/i.test(exchange.request.headers.accept ?? '')) {
      exchange.send(302, 'text/plain; charset=utf-8', '', { Location: '/console' })
    } else {
      exchange.json(200, { name: 'asyncgate', links })
    }
  })
}

function documentRoutes(context: Context, operations: readonly Operation[]): Route[] {
  let document: string | undefined
  let page: ReturnType<typeof docsPage> | undefined
  return [
    publicRoute(context, '/openapi.json', (exchange) => {
      document ??= JSON.stringify(openApi(operations, ENDPOINTS))
      exchange.send(200, 'application/json', document)
    }),
    publicRoute(context, '/docs', (exchange) => {
      page ??= docsPage(openApi(operations, ENDPOINTS))
      exchange.send(200, 'text/html; charset=utf-8', page.html, {
        'Content-Security-Policy': page.policy,
      })
    }),
  ]
}

/** Where clients get access tokens. */
function resourceRoutes(context: Context): Route[] {
  const { resource } = context
  if (resource === undefined) return []
  return RESOURCE_PATHS.map((path) =>
    publicRoute(context, RESOURCE_METADATA + path, (exchange) => exchange.json(200, resource.metadata(path))),
  )
}

/** The public keys of the log of a tenant, for anyone who verifies proofs. They follow from the name of the tenant. */
function logKeyRoute(context: Context): Route {
  return publicRoute(context, LOG_KEY_PATH, async (exchange) => {
    const tenant = new URLSearchParams(exchange.query).get('tenant') ?? DEFAULT_TENANT
    if (tenant.length > MAX_TENANT_LENGTH)
      throw invalid('tenant', `is longer than ${MAX_TENANT_LENGTH} characters`)
    const keys = await context.gate.ledgerLogs.verifierKeys(tenant)
    exchange.send(200, 'text/plain; charset=utf-8', keys.map((key) => `${key}\n`).join(''))
  })
}

/** The console has its own router below /console. */
const CONSOLE_PATHS = ['', '/', '/{page}', '/{page}/{item}', '/{page}/{item}/{action}']

const OAUTH_PATHS = [
  '/oauth/authorize',
  '/oauth/authorize/{request}',
  '/oauth/token',
  '/oauth/revoke',
  '/oauth/introspect',
  '/oauth/jwks',
  '/oauth/register',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
]

function mountedRoutes({ mcp, console, oauth }: Mounted): Route[] {
  const mount = (handler: Handler | undefined, path: string): Route[] => {
    if (handler === undefined) return []
    const handle = ({ request, response, id }: Exchange) => {
      response.setHeader('X-Request-Id', id)
      return handler(request, response)
    }
    return [{ method: 'ANY', path, handle }]
  }
  return [
    ...mount(mcp, '/mcp'),
    ...CONSOLE_PATHS.flatMap((path) => mount(console, `/console${path}`)),
    ...OAUTH_PATHS.flatMap((path) => mount(oauth, path)),
  ]
}
