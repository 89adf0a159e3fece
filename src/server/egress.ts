import { ConfigError } from '../config/index.ts'
import type { ServerValues } from '../config/server.ts'
import { allowedPrivateHosts } from '../egress/policy.ts'
import type { EgressSettings } from '../egress/settings.ts'
import { messageOf } from '../util/error-message.ts'

type EgressValues = Pick<ServerValues, 'egress_allow_http' | 'egress_ports' | 'egress_private'>

/** The egress settings of requests to addresses that agents or workers choose. */
export function egressOf(values: EgressValues): Partial<EgressSettings> {
  const { egress_allow_http, egress_ports, egress_private } = values
  checkPrivateHosts('EGRESS_PRIVATE', egress_private)
  return {
    allow_http: egress_allow_http,
    allowed_ports: egress_ports ?? 'default',
    allowed_private: egress_private,
  }
}

export function checkPrivateHosts(setting: string, hosts: readonly string[]): void {
  try {
    allowedPrivateHosts(hosts)
  } catch (error) {
    throw new ConfigError([`${setting}: ${messageOf(error)}.`])
  }
}
