import { ConfigError } from '../config/index.ts'
import type { ServerValues } from '../config/server.ts'
import { privatePlaces } from '../egress/private-places.ts'
import type { EgressSettings } from '../egress/settings.ts'
import { messageOf } from '../util/error-message.ts'

type EgressValues = Pick<ServerValues, 'egress_allow_http' | 'egress_ports' | 'egress_private'>

/** What the settings say of requests to the outside. */
export function egressOf(values: EgressValues): Partial<EgressSettings> {
  const { egress_allow_http, egress_ports, egress_private } = values
  try {
    privatePlaces(egress_private)
  } catch (error) {
    throw new ConfigError([`EGRESS_PRIVATE: ${messageOf(error)}.`])
  }
  return {
    allow_http: egress_allow_http,
    allowed_ports: egress_ports ?? 'default',
    allowed_private: egress_private,
  }
}
