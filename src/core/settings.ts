import type { PrincipalKey } from './principal.ts'

/** The rules an operator can change. Names are those of the environment variables, without the prefix. */
export interface Settings {
  readonly instance_id: string
  readonly claim_order: 'fair' | 'fifo'
  readonly locatability: 'lenient' | 'strict'
  readonly default_lease_ttl_seconds: number
  readonly max_lease_ttl_seconds: number
  readonly max_lease_renewals: number
  readonly max_lease_lifetime_seconds: number
  readonly max_lease_expiries: number
  /** How long no other worker can claim a task after its lease has expired. */
  readonly lease_grace_seconds: number
  /** A further pause before a task whose lease has lapsed can be claimed again. */
  readonly lease_requeue_delay_seconds: number
  /** Length of a lease or heartbeat of the lease protocol when the worker asks for none. */
  readonly lease_protocol_ttl_seconds: number
  /** How long one attempt may take if neither the task nor its type says; 0 is no limit. */
  readonly default_timeout_seconds: number
  readonly default_max_attempts: number
  readonly default_retry_backoff_seconds: number
  readonly max_retry_backoff_seconds: number
  readonly default_priority: number
  /** Retention of tasks that neither the task nor its type sets, in days; 0 is unlimited. */
  readonly task_retention_days: number
  /** Per tenant; -1 is no limit. */
  readonly max_active_tasks: number
  readonly max_concurrent_leases: number
  readonly max_terminal_tasks: number
  readonly max_receipt_bytes: number
  readonly max_receipts_per_task: number
  /** Default time after which an approval expires; 0: never. */
  readonly approval_expires_seconds: number
  readonly max_payload_bytes: number
  /** A larger result leaves its task, where there is a channel to take it. */
  readonly result_inline_max_bytes: number
  /** The largest result that the gate puts into a channel. */
  readonly result_max_bytes: number
  /** Whether tasks may have a type that is not registered. */
  readonly allow_unknown_task_types: boolean
  /** Which task types can be MCP tools: only registered ones, or also those that workers publish. */
  readonly type_tools: 'registered' | 'published'
  readonly lease_sweep_interval_seconds: number
  readonly worker_offline_seconds: number
  readonly progress_receipts: boolean
  /** Whether a refused start, completion or failure is reported to the owner of the task. */
  readonly lease_anomaly_receipts: boolean
  readonly escalation_enabled: boolean
  /** Recipients by the escalation class of a task. They are principals of its tenant. */
  readonly escalation_targets: readonly { readonly class: number; readonly to: PrincipalKey }[]
  /** The principal that is notified of expired leases and exhausted retries; null: the owner of the task. */
  readonly escalation_target: PrincipalKey | null
  /** The principal that is notified of exhausted retries instead; null: the same one. */
  readonly escalation_retries_target: PrincipalKey | null
  /** Maximum number of commands that wait for a commit. Further ones are refused with OVERLOADED. */
  readonly max_pending_commands: number
  /** What those commands may carry in all. */
  readonly max_pending_bytes: number
}

/** The settings that can be set for each tenant. */
export const QUOTAS = [
  'max_active_tasks',
  'max_terminal_tasks',
  'max_concurrent_leases',
  'max_payload_bytes',
  'max_receipt_bytes',
  'max_receipts_per_task',
] as const satisfies readonly (keyof Settings)[]

export type QuotaName = (typeof QUOTAS)[number]
export type Quotas = Pick<Settings, QuotaName>

export const DEFAULT_SETTINGS: Settings = {
  instance_id: 'asyncgate-1',
  claim_order: 'fair',
  locatability: 'lenient',
  default_lease_ttl_seconds: 120,
  max_lease_ttl_seconds: 1800,
  max_lease_renewals: 10,
  max_lease_lifetime_seconds: 7200,
  max_lease_expiries: 10,
  lease_grace_seconds: 0,
  lease_requeue_delay_seconds: 0,
  lease_protocol_ttl_seconds: 900,
  default_timeout_seconds: 0,
  default_max_attempts: 2,
  default_retry_backoff_seconds: 15,
  max_retry_backoff_seconds: 900,
  default_priority: 0,
  task_retention_days: 0,
  max_active_tasks: -1,
  max_concurrent_leases: -1,
  max_terminal_tasks: -1,
  max_receipt_bytes: -1,
  max_receipts_per_task: -1,
  approval_expires_seconds: 0,
  max_payload_bytes: 1024 * 1024,
  result_inline_max_bytes: 1024 * 1024,
  result_max_bytes: 5 * 1024 ** 3,
  allow_unknown_task_types: true,
  type_tools: 'registered',
  lease_sweep_interval_seconds: 5,
  worker_offline_seconds: 120,
  progress_receipts: true,
  lease_anomaly_receipts: false,
  escalation_enabled: false,
  escalation_targets: [],
  escalation_target: null,
  escalation_retries_target: null,
  max_pending_commands: 20_000,
  max_pending_bytes: 256 * 1024 * 1024,
}
