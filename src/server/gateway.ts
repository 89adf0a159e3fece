import type { Config } from '../config/index.ts'
import type { ServerValues } from '../config/server.ts'
import { NO_TENANT_CONFIG } from '../config/tenants.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { GatewaySettings } from '../gateway/calls/session.ts'
import { TenantSessions } from '../gateway/calls/tenant-sessions.ts'
import { TenantRegistries } from '../gateway/upstreams/tenant-registries.ts'
import { type Logger, logErrors } from '../http/log.ts'
import { toolName } from '../mcp/tools/listing.ts'
import { upstreamTools } from '../mcp/tools/task-tools.ts'
import type { TaskToolSource } from '../mcp/tools/tool.ts'
import type { Store } from '../store/store.ts'
import { checkPrivateHosts } from './egress.ts'
import { type FileUpstream, readUpstreamsFile } from './operator-files.ts'

interface UpstreamOptions {
  /** From the operator's file and the command. */
  readonly fixed: readonly FileUpstream[]
  readonly logger: Logger
  /** Receives each line that the program of an upstream writes to stderr. */
  readonly onStderr?: ((upstream: string, line: string) => void) | undefined
  /** Secrets that no agent may see: a response that contains one is refused. */
  readonly secrets: readonly string[]
}

/** The upstreams of all tenants. They connect to nothing before they are started. */
export function openUpstreams(
  { server, tenants }: Pick<Config, 'tenants'> & { readonly server: Pick<ServerValues, 'egress_allow_http'> },
  store: Store,
  { fixed, logger, onStderr, secrets }: UpstreamOptions,
): TenantRegistries {
  return new TenantRegistries({
    store,
    fixed: [...new Set(fixed.map(({ tenant }) => tenant))],
    report: logErrors(logger),
    optionsOf: (name) => {
      const { upstream_private, upstream_credentials } = tenants.get(name) ?? NO_TENANT_CONFIG
      return {
        fixed: fixed.flatMap(({ tenant, record }) => (tenant === name ? [record] : [])),
        logger: name === DEFAULT_TENANT ? logger : logger.child({ tenant: name }),
        onStderr: onStderr && ((upstream, line) => onStderr(shownName(name, upstream), line)),
        secrets,
        egress: {
          allow_http: server.egress_allow_http,
          // Admins and the operator choose these addresses, not agents, so every port is allowed.
          allowed_ports: 'any',
          allowed_private: upstream_private,
        },
        credentials: upstream_credentials,
      }
    },
  })
}

/** An upstream for the operator, who sees those of all tenants. */
export function shownName(tenant: string, upstream: string): string {
  return tenant === DEFAULT_TENANT ? upstream : `${tenant}/${upstream}`
}

/** The upstreams of the operator's file. Also checks the settings about them. */
export function readUpstreams({
  server,
  tenants,
}: Pick<Config, 'server' | 'tenants'>): readonly FileUpstream[] {
  for (const [name, { upstream_private }] of tenants) {
    const place = name === DEFAULT_TENANT ? '' : ` of the tenant ${name}`
    checkPrivateHosts(`UPSTREAM_PRIVATE${place}`, upstream_private)
  }
  return server.upstreams_file === null ? [] : readUpstreamsFile(server.upstreams_file)
}

type SessionValues = GatewaySettings &
  Pick<ServerValues, 'gateway_wait_seconds' | 'gateway_at_timeout' | 'mcp_tool_names'>

interface SessionDeps {
  readonly gate: Gate
  readonly upstreams: TenantRegistries
  readonly store: Store
  readonly report: (error: unknown) => void
  /** How long running calls may take to end when the sessions stop. */
  readonly stopMs: number | undefined
}

/** Executes the calls of upstream tools, and offers these tools over MCP. The sessions do nothing before they are started. */
export function openSessions(
  values: SessionValues,
  { gate, upstreams, store, report, stopMs }: SessionDeps,
): { readonly sessions: TenantSessions; readonly source: TaskToolSource } {
  const { gateway_wait_seconds, gateway_at_timeout, mcp_tool_names } = values
  return {
    sessions: new TenantSessions({
      gate,
      upstreams,
      store,
      settings: values,
      ...(stopMs !== undefined && { stopMs }),
      report,
    }),
    source: upstreamTools({
      gate,
      waitSeconds: gateway_wait_seconds,
      cancelsAtTimeout: gateway_at_timeout === 'cancel',
      waitTool: toolName('wait_for_task', mcp_tool_names),
      onError: report,
    }),
  }
}
