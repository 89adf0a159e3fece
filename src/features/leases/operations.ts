import { z } from 'zod'
import { operation, WRITES, WRITES_ONCE } from '../define-operation.ts'
import { itemError } from '../many.ts'
import { appendLogs, appendLogsInput } from './append-logs.ts'
import { claim, claimInput } from './claim.ts'
import { complete, completeInput } from './complete.ts'
import { completeMany, completeManyInput } from './complete-many.ts'
import { fail, failInput } from './fail.ts'
import { progress, progressInput } from './progress.ts'
import { release, releaseInput } from './release.ts'
import { renew, renewInput } from './renew.ts'
import { renewMany, renewManyInput } from './renew-many.ts'
import { reportCancel, reportCancelInput } from './report-cancel.ts'
import { drainField, offerShape } from './shape.ts'
import { start, startInput } from './start.ts'

const ok = z.literal(true)
const time = z.iso.datetime()

const renewed = z.object({
  ok,
  expires_at: time,
  expires_in_ms: z.int(),
  renewals_left: z.int(),
  ...drainField,
})
const completed = z.object({
  ok,
  receipt_id: z.string(),
  obligation_open: z.boolean().meta({
    description: 'True if the result cannot be located: send complete again with artifacts or delivery_proof',
  }),
})

export const leaseOperations = [
  operation({
    name: 'lease_next',
    title: 'Take work',
    description:
      'For workers: takes the next tasks that fit your capabilities and types, each under a lease. With wait_seconds it waits for work (at most 50). An empty list means that there is none. ' +
      'Keep a lease alive with renew_lease, and end it with complete, fail or release_lease before expires_at.',
    input: claimInput,
    output: z.object({ tasks: z.array(offerShape).readonly(), ...drainField }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/leases/claim' },
    effect: WRITES,
    call: claim,
  }),
  operation({
    name: 'start_task',
    title: 'Say that work has begun',
    description:
      'For workers: marks a leased task as running. Optional; the first report_progress does it too.',
    input: startInput,
    output: z.object({ ok, status: z.literal('running'), started_at: time }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/running' },
    effect: WRITES_ONCE,
    call: start,
  }),
  operation({
    name: 'renew_lease',
    title: 'Keep a lease',
    description:
      'For workers: extends a lease from now on. Do it well before expires_at, for example at a third of the lease. Refused once the lease is void: stop working then.',
    input: renewInput,
    output: renewed,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/leases/renew' },
    effect: WRITES,
    call: renew,
  }),
  operation({
    name: 'renew_many',
    title: 'Keep many leases',
    description: 'For workers: renew_lease for up to 1,000 leases in one call, each with its own outcome.',
    input: renewManyInput,
    output: z.object({ results: z.array(z.union([renewed, itemError])).readonly() }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/leases/renew_many' },
    effect: WRITES,
    call: renewMany,
  }),
  operation({
    name: 'report_progress',
    title: 'Report progress',
    description:
      'For workers: tells the owner how far the work is (percent, message, or any fields). Can extend the lease in the same call.',
    input: progressInput,
    output: z.object({ ok, expires_at: time, expires_in_ms: z.int(), ...drainField }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/progress' },
    effect: WRITES,
    call: progress,
  }),
  operation({
    name: 'append_logs',
    title: 'Log about a task',
    description:
      'For workers: adds up to 100 lines to the log of a task that you hold. The log is for people who look into what happened; ' +
      'nobody is notified, and it is no part of the ledger. A task keeps 10,000 lines and 1 MiB; further ones are dropped.',
    input: appendLogsInput,
    output: z.object({
      ok,
      accepted: z.int(),
      dropped: z.int().meta({ description: 'Lines for which the log had no room' }),
    }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/logs' },
    effect: WRITES,
    call: appendLogs,
  }),
  operation({
    name: 'complete',
    title: 'Complete a task',
    description:
      'For workers: ends a task with its result. Say where the result is with artifacts (pointers) or delivery_proof, else the obligation stays open until you send complete again with them. ' +
      'Sending the same again under the same lease is safe and answers the same.',
    input: completeInput,
    output: completed,
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/complete' },
    effect: WRITES_ONCE,
    call: complete,
  }),
  operation({
    name: 'complete_many',
    title: 'Complete many tasks',
    description: 'For workers: complete for up to 1,000 tasks in one call, each with its own outcome.',
    input: completeManyInput,
    output: z.object({ results: z.array(z.union([completed, itemError])).readonly() }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/complete' },
    effect: WRITES_ONCE,
    call: completeMany,
  }),
  operation({
    name: 'fail',
    title: 'Report a failure',
    description:
      'For workers: says that the work failed. With retryable true it is tried again while attempts are left, after the backoff or retry_after_seconds; otherwise the task has failed for good.',
    input: failInput,
    output: z.object({
      ok,
      requeued: z.boolean(),
      next_eligible_at: time.optional(),
      receipt_id: z.string(),
    }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/fail' },
    effect: WRITES_ONCE,
    call: fail,
  }),
  operation({
    name: 'release_lease',
    title: 'Give a task back',
    description: 'For workers: returns a leased task to the queue at once. No attempt is spent.',
    input: releaseInput,
    output: z.object({ ok, status: z.literal('queued') }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/leases/release' },
    effect: WRITES_ONCE,
    call: release,
  }),
  operation({
    name: 'report_cancel',
    title: 'Say how far a cancel has come',
    description:
      'For workers: when a task that you hold is canceled, says that you have heard of it (acknowledged) and that your work has stopped (stopped). ' +
      'Optional: the owner sees both in get_task. Use the lease under which you held the task; sending it again is safe.',
    input: reportCancelInput,
    output: z.object({ ok, acknowledged_at: time.nullable(), stopped_at: time.nullable() }),
    actor: 'worker',
    rest: { method: 'POST', path: '/v1/tasks/{task_id}/cancellation' },
    effect: WRITES_ONCE,
    call: reportCancel,
  }),
] as const
