import type { ServerValues } from '../config/server.ts'
import { DEFAULT_TENANT } from '../core/principal.ts'
import type { Gate } from '../features/gate.ts'
import type { UpstreamRecord } from '../features/upstreams/shape.ts'
import type { GatewaySettings } from '../gateway/calls/session.ts'
import { GatewaySessions } from '../gateway/calls/sessions.ts'
import { Upstreams, type UpstreamsOptions } from '../gateway/upstreams/upstreams.ts'
import { toolName } from '../mcp/tools/listing.ts'
import { upstreamTools } from '../mcp/tools/task-tools.ts'
import type { TaskToolSource } from '../mcp/tools/tool.ts'
import type { Store } from '../store/store.ts'
import { checkPrivateHosts } from './egress.ts'
import { readUpstreamsFile } from './operator-files.ts'

type UpstreamValues = Pick<ServerValues, 'upstream_private' | 'upstream_credentials' | 'egress_allow_http'>

type UpstreamOptions = Pick<UpstreamsOptions, 'fixed' | 'logger' | 'onStderr' | 'secrets'>

/** The upstreams of a server. They connect to nothing before they are started. */
export async function openUpstreams(
  values: UpstreamValues,
  store: Store,
  options: UpstreamOptions,
): Promise<Upstreams> {
  const { upstream_private, upstream_credentials, egress_allow_http } = values
  const { tenant } = await store.tenant(DEFAULT_TENANT)
  return new Upstreams({
    ...options,
    storage: { entries: store.entries, tenant, shared: store.shared },
    // Admins and the operator choose these addresses, not agents, so every port is allowed.
    egress: { allow_http: egress_allow_http, allowed_ports: 'any', allowed_private: upstream_private },
    credentials: upstream_credentials,
  })
}

/** The upstreams of the operator's file. Also checks the settings about them. */
export function readUpstreams({
  upstreams_file,
  upstream_private,
}: Pick<ServerValues, 'upstreams_file' | 'upstream_private'>): readonly UpstreamRecord[] {
  checkPrivateHosts('UPSTREAM_PRIVATE', upstream_private)
  return upstreams_file === null ? [] : readUpstreamsFile(upstreams_file)
}

type SessionValues = GatewaySettings &
  Pick<ServerValues, 'gateway_wait_seconds' | 'gateway_at_timeout' | 'mcp_tool_names'>

interface SessionDeps {
  readonly gate: Gate
  readonly upstreams: Upstreams
  readonly store: Store
  readonly report: (error: unknown) => void
  /** How long running calls may take to end when the sessions stop. */
  readonly stopMs: number | undefined
}

/** Executes the calls of upstream tools, and offers these tools over MCP. The sessions do nothing before they are started. */
export function openSessions(
  values: SessionValues,
  { gate, upstreams, store, report, stopMs }: SessionDeps,
): { readonly sessions: GatewaySessions; readonly source: TaskToolSource } {
  const { gateway_wait_seconds, gateway_at_timeout, mcp_tool_names } = values
  return {
    sessions: new GatewaySessions({
      gate,
      upstreams,
      tenantName: DEFAULT_TENANT,
      entries: store.entries,
      shared: store.shared,
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
