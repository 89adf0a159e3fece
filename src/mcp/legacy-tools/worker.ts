import { z } from 'zod'
import type { Fields } from '../../auth/caller.ts'
import { ENDS, WRITES, WRITES_ONCE } from '../../features/define-operation.ts'
import { json, jsonObject, leaseId, taskId, text, workerId } from '../../features/input.ts'
import {
  completeRun,
  failRun,
  heartbeatRun,
  NO_TASK,
  runView,
  withHolder,
} from '../../features/leases/worker-port.ts'
import type { Call } from '../tools/tool.ts'
import { type AnyLegacyTool, type LegacyContext, legacyTool } from './legacy-tool.ts'

const time = z.iso.datetime()

/** A run is a lease. Its task and worker are optional, because the lease identifies them. */
const run = { task_id: taskId.optional(), run_id: leaseId, worker_id: workerId.optional() }

interface RunInput {
  readonly task_id?: string | undefined
  readonly run_id: string
  readonly worker_id?: string | undefined
}

export const workerTools: readonly AnyLegacyTool[] = [
  legacyTool({
    name: 'worker_lease_task',
    now: 'lease_next',
    title: 'Lease a task',
    description:
      'For workers: lease a task of one of these types. task_id is null if there is none. Name run_id in all later calls about it.',
    input: z.strictObject({
      worker_id: workerId,
      task_types: z.array(text(255)).min(1).max(100),
      lease_seconds: z.int().min(1).optional(),
    }),
    output: z.union([
      z.object({
        task_id: z.string(),
        run_id: z.string(),
        task_type: z.string(),
        params: json,
        priority: z.int(),
        lease_expires_at: time,
        metadata: jsonObject,
      }),
      z.object({ task_id: z.null(), message: z.string() }),
    ]),
    actor: 'worker',
    effect: WRITES,
    identity: ({ worker_id }) => ({ worker_id }),
    async run({ gate }, caller, { worker_id, task_types, lease_seconds }, { signal }) {
      const asked = {
        worker_id,
        accept_types: task_types,
        max_tasks: 1,
        ...(lease_seconds !== undefined && { lease_ttl_seconds: lease_seconds }),
      }
      const { tasks } = await gate.leaseNext(caller, asked, signal)
      const [offer] = tasks
      if (offer === undefined) return NO_TASK
      return runView(offer)
    },
  }),
  legacyTool({
    name: 'worker_heartbeat_task',
    now: 'report_progress',
    title: 'Report progress of a run',
    description: 'For workers: report progress and extend the lease.',
    input: z.strictObject({
      ...run,
      progress_percent: z.number().optional(),
      progress_message: z.string().optional(),
      extend_lease_seconds: z.int().min(1).optional(),
    }),
    output: z.object({ status: z.literal('ok'), lease_expires_at: time, drain: z.literal(true).optional() }),
    actor: 'worker',
    effect: WRITES,
    identity: identityOf,
    async run({ gate }, caller, input, { implied }) {
      const { progress_percent, progress_message, extend_lease_seconds } = input
      return heartbeatRun(gate, caller, {
        ...leaseOf(implied),
        ...(progress_percent !== undefined && { percent: progress_percent }),
        ...(progress_message !== undefined && { message: progress_message }),
        ...(extend_lease_seconds !== undefined && { extend_by_seconds: extend_lease_seconds }),
      })
    },
  }),
  legacyTool({
    name: 'worker_complete_task',
    now: 'complete',
    title: 'Complete a run',
    description: 'For workers: the task is done, and result_pointer says where its result is.',
    input: z.strictObject({
      ...run,
      result_channel: text(64).optional(),
      result_pointer: text(2048),
      result_checksum: text(256).optional(),
      summary: text(2000).optional(),
      result: json.optional(),
      metadata: jsonObject.optional(),
    }),
    output: z.object({
      status: z.literal('completed'),
      notification_sent: z.literal(true),
      notification_id: z.string(),
    }),
    actor: 'worker',
    effect: WRITES_ONCE,
    identity: identityOf,
    async run({ gate }, caller, input, { implied }) {
      const { result_channel, result_pointer, result_checksum, summary, result, metadata } = input
      return completeRun(gate, caller, {
        ...leaseOf(implied),
        result_pointer,
        ...(result_channel !== undefined && { result_channel }),
        ...(result_checksum !== undefined && { result_checksum }),
        ...(summary !== undefined && { result_summary: summary }),
        ...(result !== undefined && { result }),
        ...(metadata !== undefined && { completion_metadata: metadata }),
      })
    },
  }),
  legacyTool({
    name: 'worker_fail_task',
    now: 'fail',
    title: 'Fail a run',
    description:
      'For workers: the work failed. If it is retryable, it is tried again while retries are left.',
    input: z.strictObject({
      ...run,
      error_message: text(8000),
      retryable: z.boolean().optional(),
      metadata: jsonObject.optional(),
    }),
    output: z.object({
      status: z.enum(['failed', 'dead_letter']),
      will_retry: z.boolean(),
      retry_scheduled_at: time.nullable().optional(),
      notification_sent: z.literal(true).optional(),
    }),
    actor: 'worker',
    effect: ENDS,
    identity: identityOf,
    async run({ gate }, caller, input, { implied }) {
      const { error_message, retryable, metadata } = input
      return failRun(gate, caller, {
        ...leaseOf(implied),
        error_message,
        ...(retryable !== undefined && { retryable }),
        ...(metadata !== undefined && { metadata }),
      })
    },
  }),
]

function identityOf(
  { run_id, task_id, worker_id }: RunInput,
  { gate }: LegacyContext,
  { credential }: Call,
): Promise<Fields> {
  return withHolder(gate, credential.tenant, {
    lease_id: run_id,
    ...(task_id !== undefined && { task_id }),
    ...(worker_id !== undefined && { worker_id }),
  })
}

function leaseOf({ task_id, lease_id, worker_id }: Fields): Fields {
  return { task_id, lease_id, worker_id }
}
