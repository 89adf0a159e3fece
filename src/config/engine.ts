import { z } from 'zod'
import { DEFAULT_SETTINGS as DEFAULTS, type Settings } from '../core/settings.ts'
import { boolean, integer, oneOf, principal, targets, text } from './kinds.ts'

const YEAR = 365 * 24 * 3600
const MIB = 1024 * 1024

const seconds = (min = 0) => integer(min, YEAR)
const limit = integer(-1)

/** The settings of the engine: one entry for each field of Settings. */
export const engineTable = z.object({
  instance_id: text.default(
    DEFAULTS.instance_id,
    'Name of this instance in receipts and logs. Detected from the platform if unset.',
    'detected',
  ),
  claim_order: oneOf('fair', 'fifo').default(
    DEFAULTS.claim_order,
    'Order of tasks with the same priority: round-robin between owners (fair), or first in, first out (fifo).',
  ),
  locatability: oneOf('lenient', 'strict').default(
    DEFAULTS.locatability,
    'A completion that does not locate its result leaves its obligation open (lenient) or is refused (strict).',
  ),
  default_lease_ttl_seconds: seconds(1).default(
    DEFAULTS.default_lease_ttl_seconds,
    'Lease duration if the worker does not request one.',
  ),
  max_lease_ttl_seconds: seconds(1).default(
    DEFAULTS.max_lease_ttl_seconds,
    'Maximum duration of a lease or renewal. Longer requests are reduced to it.',
  ),
  max_lease_renewals: integer(0).default(
    DEFAULTS.max_lease_renewals,
    'Maximum number of renewals of a lease.',
  ),
  max_lease_lifetime_seconds: seconds(1).default(
    DEFAULTS.max_lease_lifetime_seconds,
    'Maximum time from claim to the end of a lease, renewals included.',
  ),
  max_lease_expiries: integer(1, 1000).default(
    DEFAULTS.max_lease_expiries,
    'Number of expired leases after which a task fails. A task can override it.',
  ),
  lease_grace_seconds: seconds().default(
    DEFAULTS.lease_grace_seconds,
    'Delay between the end of an expired or timed-out lease and the next claim, for a worker that notices late.',
  ),
  lease_requeue_delay_seconds: seconds().default(
    DEFAULTS.lease_requeue_delay_seconds,
    'Additional delay before a task whose lease has expired can be claimed, besides a random 0 to 5 s.',
  ),
  lease_protocol_ttl_seconds: seconds(1).default(
    DEFAULTS.lease_protocol_ttl_seconds,
    'Duration of a lease and of a heartbeat at POST /lease if the worker does not request one.',
  ),
  default_timeout_seconds: seconds().default(
    DEFAULTS.default_timeout_seconds,
    'Timeout of an attempt if neither the task nor its type sets one; 0: no limit except for MAX_LEASE_LIFETIME_SECONDS.',
  ),
  default_max_attempts: integer(1, 1000).default(
    DEFAULTS.default_max_attempts,
    'Maximum attempts of a task that does not set its own.',
  ),
  default_retry_backoff_seconds: seconds().default(
    DEFAULTS.default_retry_backoff_seconds,
    'Delay before the first retry; it doubles each time.',
  ),
  max_retry_backoff_seconds: seconds().default(
    DEFAULTS.max_retry_backoff_seconds,
    'Maximum delay between retries.',
  ),
  default_priority: integer(-1000, 1000).default(
    DEFAULTS.default_priority,
    'Priority of a task that does not set one. Higher priorities go first.',
  ),
  task_retention_days: integer(0, 36_500).default(
    DEFAULTS.task_retention_days,
    'Days after which the contents of an ended task are removed if neither the task nor its type sets retention_days; then its receipts are archived as RECEIPT_RETENTION_DAYS says. 0: tasks and receipts are never removed. See docs/retention.md.',
  ),
  max_active_tasks: limit.default(
    DEFAULTS.max_active_tasks,
    'Maximum open tasks per tenant; -1 is no limit.',
  ),
  max_concurrent_leases: limit.default(
    DEFAULTS.max_concurrent_leases,
    'Maximum concurrent leases per tenant; -1 is no limit.',
  ),
  max_terminal_tasks: limit.default(
    DEFAULTS.max_terminal_tasks,
    'Ended tasks per tenant above which no tasks can be created; -1 is no limit.',
  ),
  max_receipt_bytes: limit.default(
    DEFAULTS.max_receipt_bytes,
    'Size of the receipts of a tenant above which no tasks can be created; -1 is no limit.',
  ),
  max_receipts_per_task: limit.default(
    DEFAULTS.max_receipts_per_task,
    'Receipts of a task above which reports of progress are stored without one; -1 is no limit.',
  ),
  max_payload_bytes: integer(1, 256 * MIB).default(
    DEFAULTS.max_payload_bytes,
    'Maximum size of a payload and of a result that is stored with its task.',
  ),
  approval_expires_seconds: seconds().default(
    DEFAULTS.approval_expires_seconds,
    'Expiry of an approval request if neither a rule nor a worker sets one; 0: it does not expire.',
  ),
  result_inline_max_bytes: integer(0, 256 * MIB).default(
    DEFAULTS.result_inline_max_bytes,
    'Larger results are stored in RESULTS_CHANNEL. Never more than MAX_PAYLOAD_BYTES.',
  ),
  result_max_bytes: integer(1, 64 * 1024 * MIB).default(
    DEFAULTS.result_max_bytes,
    'Maximum size of a result that the server stores in a channel.',
  ),
  allow_unknown_task_types: boolean.default(
    DEFAULTS.allow_unknown_task_types,
    'Accept tasks whose type is not registered.',
  ),
  type_tools: oneOf('registered', 'published').default(
    DEFAULTS.type_tools,
    'Task types that are MCP tools: those registered with a tool (registered), or also all types that workers publish (published).',
  ),
  lease_sweep_interval_seconds: integer(1, 3600).default(
    DEFAULTS.lease_sweep_interval_seconds,
    'Interval of the sweep for expired leases, timeouts and delays.',
  ),
  worker_offline_seconds: seconds(1).default(
    DEFAULTS.worker_offline_seconds,
    'Time without a request after which a worker without a lease counts as offline.',
  ),
  progress_receipts: boolean.default(
    DEFAULTS.progress_receipts,
    'Write a receipt for every progress report.',
  ),
  lease_anomaly_receipts: boolean.default(
    DEFAULTS.lease_anomaly_receipts,
    'Write a system.anomaly receipt for a start, completion or failure without a valid lease, at most one per minute and task.',
  ),
  escalation_enabled: boolean.default(
    DEFAULTS.escalation_enabled,
    'Write a task.escalated receipt when a lease expires or retries are exhausted.',
  ),
  escalation_targets: targets.default(
    DEFAULTS.escalation_targets,
    'Recipients by class, for tasks with an escalation_class. If ESCALATION_TARGET is unset, the target of ESCALATION_LEASE_EXPIRY_CLASS is used.',
  ),
  escalation_target: principal.optional(
    'Recipient of these receipts. Default: the target of ESCALATION_TARGETS, or else the owner of the task.',
  ),
  escalation_retries_target: principal.optional(
    'Recipient if retries or lease expiries are exhausted. Default: the target of ESCALATION_MAX_RETRIES_CLASS, or else ESCALATION_TARGET.',
  ),
  max_pending_commands: integer(1).default(
    DEFAULTS.max_pending_commands,
    'Maximum commands that wait for a commit. More are refused with OVERLOADED.',
  ),
  max_pending_bytes: integer(1).default(DEFAULTS.max_pending_bytes, 'Maximum total size of these commands.'),
}) satisfies z.ZodType<Record<keyof Settings, unknown>>

export type EngineValues = z.output<typeof engineTable>
