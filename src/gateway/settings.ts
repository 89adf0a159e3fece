import type { SessionEnd } from '../features/sessions/sessions.ts'

/** What an operator can say about calls of upstreams' tools. Names are those of the environment variables. */
export interface GatewaySettings {
  readonly gateway_session_workers: number
  readonly gateway_session_queue: number
  readonly gateway_sessions: number
  readonly gateway_workers: number
  readonly gateway_common_workers: number
  readonly gateway_session_idle_seconds: number
  readonly gateway_session_end: SessionEnd
  readonly gateway_session_grace_seconds: number
}

export const GATEWAY_DEFAULTS: GatewaySettings = {
  gateway_session_workers: 3,
  gateway_session_queue: 10_000,
  gateway_sessions: 256,
  gateway_workers: 128,
  gateway_common_workers: 8,
  gateway_session_idle_seconds: 900,
  gateway_session_end: 'run',
  gateway_session_grace_seconds: 30,
}
