import { z } from 'zod'
import { boolean, httpUrl, integer, Kind, oneOf, text } from './kinds.ts'

type ReceiptMode = 'standalone' | 'receiptgate_integrated'

const MODES: Readonly<Record<string, ReceiptMode>> = {
  standalone: 'standalone',
  receiptgate_integrated: 'receiptgate_integrated',
  memorygate_integrated: 'receiptgate_integrated',
}

const receiptMode = new Kind<ReceiptMode>(
  'standalone or receiptgate_integrated (also memorygate_integrated)',
  (value) => MODES[String(value).trim().toLowerCase()],
)

/** Sending receipts to ReceiptGate. */
export const receiptgateTable = z.object({
  receipt_mode: receiptMode.default(
    'standalone',
    'Whether receipts are also sent to a ReceiptGate (receiptgate_integrated); see docs/ledger.md.',
  ),
  receiptgate_endpoint: httpUrl.optional(
    'URL of the ReceiptGate; /mcp is appended if it is missing. It may be a private address.',
  ),
  receiptgate_url: httpUrl.optional('Another name of RECEIPTGATE_ENDPOINT.'),
  receiptgate_auth_token: text.secret(
    'Key that is sent to RECEIPTGATE_ENDPOINT as "Authorization: Bearer KEY".',
  ),
  receiptgate_api_key: text.secret('Another name of RECEIPTGATE_AUTH_TOKEN.'),
  receiptgate_tenant_id: text.default(
    'default',
    'The tenant_id of receipts that are sent. Only the receipts of the tenant "default" are sent.',
  ),
  receiptgate_schema_profile: oneOf('1.0', '1.1').default(
    '1.0',
    'Version of the receipts that the ReceiptGate accepts. 1.1 has obligations with a custodian.',
  ),
  receipt_consistency_mode: oneOf('eventual', 'strict').default(
    'eventual',
    'Whether an operation succeeds only once the ReceiptGate has accepted its receipts (strict), or does not wait for it (eventual).',
  ),
  receiptgate_accept_mode: oneOf('async', 'sync').default(
    'async',
    'Whether a claim returns a task only once the ReceiptGate has accepted its receipt (sync). RECEIPT_CONSISTENCY_MODE=strict includes it.',
  ),
  receiptgate_wait_ms: integer(10, 60_000).default(
    5_000,
    'How long an operation waits for the ReceiptGate in these modes, besides the timeout of one request.',
  ),
  receiptgate_forward_assigned: boolean.default(
    false,
    'Also send a receipt for each new task, as accepted by asyncgate. Only for RECEIPTGATE_SCHEMA_PROFILE=1.0.',
  ),
  receiptgate_reconcile_seconds: integer(0, 86_400).default(
    0,
    'Interval at which completions that workers have written to the ReceiptGate are looked for; 0: never. See docs/ledger.md.',
  ),
  receiptgate_emission_timeout_ms: integer(10, 60_000).default(
    500,
    'Timeout of a request to the ReceiptGate.',
  ),
  receiptgate_retry_interval_seconds: integer(1, 3600).default(
    30,
    'Delay before a receipt that was not accepted is sent again.',
  ),
  receiptgate_max_retries: integer(1, 1000).default(
    10,
    'Failed attempts after which a receipt is set aside. Those while the circuit breaker is open do not count.',
  ),
  receiptgate_buffer_size: integer(1).default(
    10_000,
    'Number of waiting receipts above which a system.anomaly receipt is written. None is discarded.',
  ),
  receiptgate_circuit_breaker_enabled: boolean.default(
    true,
    'Pause after consecutive failed requests to the ReceiptGate.',
  ),
  receiptgate_circuit_breaker_failure_threshold: integer(1, 1000).default(
    5,
    'Consecutive failures after which the circuit breaker opens.',
  ),
  receiptgate_circuit_breaker_timeout_seconds: integer(1, 3600).default(
    60,
    'How long it stays open before requests are tried.',
  ),
  receiptgate_circuit_breaker_half_open_max_calls: integer(1, 100).default(
    3,
    'Maximum requests that are tried before it has to close.',
  ),
  receiptgate_circuit_breaker_success_threshold: integer(1, 100).default(
    2,
    'Number of these that must succeed to close it.',
  ),
})

export type ReceiptgateValues = z.output<typeof receiptgateTable>

/** The ReceiptGate of the settings. */
export interface ReceiptgateConfig {
  /** The URL that requests are sent to. */
  readonly url: string
  readonly token: string | null
  readonly tenantId: string
  readonly profile: '1.0' | '1.1'
  readonly forwardsAssigned: boolean
  /** Which operations wait for the ReceiptGate. */
  readonly waits: 'never' | 'claims' | 'always'
  readonly waitMs: number
  /** 0 if completions are not looked for. */
  readonly reconcileMs: number
  readonly timeoutMs: number
  readonly retryMs: number
  readonly maxTries: number
  readonly bufferSize: number
  /** Null if it is disabled. */
  readonly breaker: {
    readonly failures: number
    readonly openMs: number
    readonly probes: number
    readonly successes: number
  } | null
}

/** Null if receipts are not sent. */
export function receiptgateOf(values: ReceiptgateValues): ReceiptgateConfig | null {
  const { receipt_mode } = values
  const endpoint = values.receiptgate_endpoint ?? values.receiptgate_url
  if (receipt_mode === 'standalone' || endpoint === null) return null
  const base = endpoint.replace(/\/+$/, '')
  return {
    url: base.endsWith('/mcp') ? base : `${base}/mcp`,
    token: values.receiptgate_auth_token ?? values.receiptgate_api_key,
    tenantId: values.receiptgate_tenant_id,
    profile: values.receiptgate_schema_profile,
    forwardsAssigned: values.receiptgate_forward_assigned,
    waits: waitsOf(values),
    waitMs: values.receiptgate_wait_ms,
    reconcileMs: values.receiptgate_reconcile_seconds * 1000,
    timeoutMs: values.receiptgate_emission_timeout_ms,
    retryMs: values.receiptgate_retry_interval_seconds * 1000,
    maxTries: values.receiptgate_max_retries,
    bufferSize: values.receiptgate_buffer_size,
    breaker: values.receiptgate_circuit_breaker_enabled
      ? {
          failures: values.receiptgate_circuit_breaker_failure_threshold,
          openMs: values.receiptgate_circuit_breaker_timeout_seconds * 1000,
          probes: values.receiptgate_circuit_breaker_half_open_max_calls,
          successes: values.receiptgate_circuit_breaker_success_threshold,
        }
      : null,
  }
}

/** Modes that have no effect without a ReceiptGate, although an operator would rely on them. */
function standaloneProblems(values: ReceiptgateValues): string[] {
  const { receipt_consistency_mode, receiptgate_accept_mode } = values
  return [
    ...(receipt_consistency_mode === 'strict' ? ['RECEIPT_CONSISTENCY_MODE=strict'] : []),
    ...(receiptgate_accept_mode === 'sync' ? ['RECEIPTGATE_ACCEPT_MODE=sync'] : []),
  ].map((setting) => `${setting} needs RECEIPT_MODE=receiptgate_integrated.`)
}

function waitsOf({
  receipt_consistency_mode,
  receiptgate_accept_mode,
}: ReceiptgateValues): ReceiptgateConfig['waits'] {
  if (receipt_consistency_mode === 'strict') return 'always'
  return receiptgate_accept_mode === 'sync' ? 'claims' : 'never'
}

/** Settings that are incomplete or contradict each other. */
export function receiptgateProblems(values: ReceiptgateValues): string[] {
  const {
    receipt_mode,
    receiptgate_endpoint,
    receiptgate_url,
    receiptgate_auth_token,
    receiptgate_api_key,
    receiptgate_schema_profile,
    receiptgate_forward_assigned,
    receiptgate_circuit_breaker_success_threshold: successes,
    receiptgate_circuit_breaker_half_open_max_calls: probes,
  } = values
  return [
    ...(receiptgate_endpoint !== null && receiptgate_url !== null
      ? ['RECEIPTGATE_ENDPOINT and RECEIPTGATE_URL are the same setting. Remove one.']
      : []),
    ...(receiptgate_auth_token !== null && receiptgate_api_key !== null
      ? ['RECEIPTGATE_AUTH_TOKEN and RECEIPTGATE_API_KEY are the same setting. Remove one.']
      : []),
    ...(receipt_mode === 'receiptgate_integrated' && (receiptgate_endpoint ?? receiptgate_url) === null
      ? ['RECEIPT_MODE=receiptgate_integrated needs RECEIPTGATE_ENDPOINT.']
      : []),
    ...(receiptgate_forward_assigned && receiptgate_schema_profile === '1.1'
      ? [
          'RECEIPTGATE_FORWARD_ASSIGNED needs RECEIPTGATE_SCHEMA_PROFILE=1.0. In 1.1 an obligation is accepted once, so that the worker could not accept it after asyncgate.',
        ]
      : []),
    ...(receipt_mode === 'standalone' ? standaloneProblems(values) : []),
    ...(successes > probes
      ? [
          `RECEIPTGATE_CIRCUIT_BREAKER_SUCCESS_THRESHOLD (${successes}) is more than RECEIPTGATE_CIRCUIT_BREAKER_HALF_OPEN_MAX_CALLS (${probes}).`,
        ]
      : []),
  ]
}
