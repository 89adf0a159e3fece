import { z } from 'zod'
import type { PrincipalKey } from '../core/principal.ts'
import { DEFAULT_SETTINGS as DEFAULTS, type Settings } from '../core/settings.ts'
import { oneOf, principal, text, truth, whole } from './kinds.ts'
import { setting } from './setting.ts'

const YEAR = 365 * 24 * 3600
const MIB = 1024 * 1024

const seconds = (min = 0) => whole(min, YEAR)
const limit = whole(-1)

/** The rules of the engine: one entry for each field of Settings. */
export const engineTable = z.object({
  instance_id: setting(
    text,
    DEFAULTS.instance_id,
    'Name of this instance in receipts and logs. Detected from the platform if unset.',
    { fallback: 'detected' },
  ),
  claim_order: setting(
    oneOf('fair', 'fifo'),
    DEFAULTS.claim_order,
    'Order within a priority: owners take turns (fair), or first come, first served (fifo).',
  ),
  locatability: setting(
    oneOf('lenient', 'strict'),
    DEFAULTS.locatability,
    'A success that does not say where its result is leaves its obligation open (lenient) or is refused (strict).',
  ),
  default_lease_ttl_seconds: setting(
    seconds(1),
    DEFAULTS.default_lease_ttl_seconds,
    'Length of a lease when the worker asks for none.',
  ),
  max_lease_ttl_seconds: setting(
    seconds(1),
    DEFAULTS.max_lease_ttl_seconds,
    'Longest lease or renewal; more is cut down to it.',
  ),
  max_lease_renewals: setting(whole(0), DEFAULTS.max_lease_renewals, 'How often one lease can be renewed.'),
  max_lease_lifetime_seconds: setting(
    seconds(1),
    DEFAULTS.max_lease_lifetime_seconds,
    'Longest time from claim to the end of a lease, renewals included.',
  ),
  max_lease_expiries: setting(
    whole(1, 1000),
    DEFAULTS.max_lease_expiries,
    'Lapsed leases after which a task fails, unless the task says otherwise.',
  ),
  lease_grace_seconds: setting(
    seconds(),
    DEFAULTS.lease_grace_seconds,
    'Pause between the end of a lapsed or timed-out lease and the next claim, for a worker that is late to notice.',
  ),
  lease_requeue_delay_seconds: setting(
    seconds(),
    DEFAULTS.lease_requeue_delay_seconds,
    'A further pause before a task whose lease has lapsed can be claimed, besides 0 to 5 s at random.',
  ),
  lease_protocol_ttl_seconds: setting(
    seconds(1),
    DEFAULTS.lease_protocol_ttl_seconds,
    'Length of a lease and of a heartbeat at POST /lease when the worker asks for none.',
  ),
  default_timeout_seconds: setting(
    seconds(),
    DEFAULTS.default_timeout_seconds,
    'Longest time of one attempt when neither the task nor its type says; 0: no limit but MAX_LEASE_LIFETIME_SECONDS.',
  ),
  default_max_attempts: setting(
    whole(1, 1000),
    DEFAULTS.default_max_attempts,
    'Attempts of a task that does not say how many.',
  ),
  default_retry_backoff_seconds: setting(
    seconds(),
    DEFAULTS.default_retry_backoff_seconds,
    'Pause before the first retry; it doubles each time.',
  ),
  max_retry_backoff_seconds: setting(
    seconds(),
    DEFAULTS.max_retry_backoff_seconds,
    'Longest pause between retries.',
  ),
  default_priority: setting(
    whole(-1000, 1000),
    DEFAULTS.default_priority,
    'Priority of a task that has none; higher goes first.',
  ),
  max_active_tasks: setting(
    limit,
    DEFAULTS.max_active_tasks,
    'Tasks of a tenant that may be open at once; -1 is no limit.',
  ),
  max_concurrent_leases: setting(
    limit,
    DEFAULTS.max_concurrent_leases,
    'Leases of a tenant that may be held at once; -1 is no limit.',
  ),
  max_payload_bytes: setting(
    whole(1, 256 * MIB),
    DEFAULTS.max_payload_bytes,
    'Largest payload of a task, and largest result that it carries itself.',
  ),
  approval_expires_seconds: setting(
    seconds(),
    DEFAULTS.approval_expires_seconds,
    'How long an approval waits if neither a rule nor a worker says; 0: for as long as it takes.',
  ),
  result_inline_max_bytes: setting(
    whole(0, 256 * MIB),
    DEFAULTS.result_inline_max_bytes,
    'A larger result leaves its task for RESULTS_CHANNEL. Never more than MAX_PAYLOAD_BYTES.',
  ),
  result_max_bytes: setting(
    whole(1, 64 * 1024 * MIB),
    DEFAULTS.result_max_bytes,
    'Largest result that the server puts into a channel, in one request or by upload.',
  ),
  allow_unknown_task_types: setting(
    truth,
    DEFAULTS.allow_unknown_task_types,
    'Whether tasks may have a type that is not registered.',
  ),
  lease_sweep_interval_seconds: setting(
    whole(1, 3600),
    DEFAULTS.lease_sweep_interval_seconds,
    'How often lapsed leases, timeouts and delays are looked for.',
  ),
  worker_offline_seconds: setting(
    seconds(1),
    DEFAULTS.worker_offline_seconds,
    'A worker without a lease that was not heard of for so long counts as offline.',
  ),
  progress_receipts: setting(
    truth,
    DEFAULTS.progress_receipts,
    'Whether a progress report also writes a receipt.',
  ),
  lease_anomaly_receipts: setting(
    truth,
    DEFAULTS.lease_anomaly_receipts,
    'Whether a start, completion or failure without a valid lease writes a system.anomaly receipt, at most one a minute per task.',
  ),
  escalation_enabled: setting(
    truth,
    DEFAULTS.escalation_enabled,
    'Whether a lapsed lease or exhausted retries write a task.escalated receipt.',
  ),
  escalation_target: setting<PrincipalKey | null>(
    principal,
    DEFAULTS.escalation_target,
    'Who is told of it. If unset: the target of ESCALATION_TARGETS, or else the owner of the task.',
  ),
  max_pending_commands: setting(
    whole(1),
    DEFAULTS.max_pending_commands,
    'Changes that may wait for a commit before callers are told OVERLOADED.',
  ),
  max_pending_bytes: setting(whole(1), DEFAULTS.max_pending_bytes, 'What those changes may carry in all.'),
}) satisfies z.ZodType<Record<keyof Settings, unknown>>

export type EngineValues = z.output<typeof engineTable>
