import { DEFAULT_TENANT } from '../auth/credential.ts'
import type { ServerValues } from '../config/server.ts'
import type { Gate } from '../features/gate.ts'
import { GatewaySessions } from '../gateway/calls/sessions.ts'
import type { GatewaySettings } from '../gateway/settings.ts'
import type { Upstreams } from '../gateway/upstreams/upstreams.ts'
import type { TaskToolSource } from '../mcp/tasks/task-tool.ts'
import { waitToolName } from '../mcp/tools/operation-tools.ts'
import { upstreamTools } from '../mcp/tools/upstream-tools.ts'
import type { Store } from '../store/store.ts'

type Values = GatewaySettings &
  Pick<ServerValues, 'gateway_wait_seconds' | 'gateway_at_timeout' | 'mcp_tool_names'>

export interface OpenSessions {
  readonly sessions: GatewaySessions
  /** The tools of the upstreams, for MCP. */
  readonly source: TaskToolSource
}

/** Those who make the calls of upstreams' tools. They do nothing until they are started. */
export function openSessions(
  values: Values,
  gate: Gate,
  upstreams: Upstreams,
  store: Store,
  report: (error: unknown) => void,
  stopMs?: number,
): OpenSessions {
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
      waitTool: waitToolName(mcp_tool_names),
      onError: report,
    }),
  }
}
