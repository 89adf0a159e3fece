import type { JsonObject } from '../core/json.ts'
import { isPrincipalKind, type PrincipalKey } from '../core/principal.ts'
import { isoTime } from '../core/time.ts'
import type { Client } from '../sdk/client.ts'
import { GateError } from '../sdk/transport.ts'
import type { Schedule } from './schedule.ts'
import { render } from './template.ts'

/** Who asked for something, and when, by the gate's clock. */
export interface Asked {
  readonly owner: PrincipalKey
  readonly principal_ai: string
  readonly created_at: number
}

/** The lease of a control task. */
export interface Lease {
  readonly task_id: string
  readonly lease_id: string
}

/** What a scheduler asks of the gate. */
export interface ScheduleGate {
  /** Creates the task of a run. A run whose task is there already is a duplicate, whoever created it. */
  fire(schedule: Schedule, runAt: number, now: number): Promise<'created' | 'duplicate'>
  reportStale(schedule: Schedule, runAt: number): Promise<void>
  asked(taskId: string): Promise<Asked>
  /** Resolves with the id of the receipt. */
  record(
    lease: Lease,
    event: 'created' | 'deleted',
    scheduleId: string,
    schedule: JsonObject,
  ): Promise<string>
}

const TIMEOUT_MS = 15_000

/** Tries of a fire are counted and spaced by the ticker. */
const ONCE = { timeoutMs: TIMEOUT_MS, retry: false } as const

export function scheduleGate(client: Client, workerId: string): ScheduleGate {
  return {
    async fire(schedule, runAt, now) {
      try {
        const { is_duplicate } = await client.createTask(taskOf(schedule, runAt, now), ONCE)
        return is_duplicate ? 'duplicate' : 'created'
      } catch (error) {
        // Who fired it before may have rendered another `now`.
        if (error instanceof GateError && error.code === 'IDEMPOTENCY_CONFLICT') return 'duplicate'
        throw error
      }
    },
    async reportStale({ schedule_id, last_status }, runAt) {
      const input = {
        worker_id: workerId,
        schedule_id,
        next_run_at: isoTime(runAt),
        reason: last_status ?? 'the scheduler did not run',
      }
      await client.reportStaleSchedule(input, ONCE)
    },
    async asked(taskId) {
      const { created_by, principal_ai, created_at } = await client.getTask({ task_id: taskId })
      if (!isPrincipalKind(created_by.kind)) throw new Error(`${created_by.kind} is not a kind of principal`)
      return {
        owner: `${created_by.kind}:${created_by.id}`,
        principal_ai,
        created_at: Date.parse(created_at),
      }
    },
    async record(lease, event, schedule_id, schedule) {
      const input = { worker_id: workerId, ...lease, event, schedule_id, schedule }
      return (await client.recordSchedule(input)).receipt_id
    },
  }
}

/** The input of create_task. It belongs to who asked for the schedule, and so do its receipts. */
export function taskOf(schedule: Schedule, runAt: number, now: number) {
  const { schedule_id, owner, principal_ai, receipt_id, task_template } = schedule
  const { payload_template, labels, ...template } = task_template
  const colon = owner.indexOf(':')
  return {
    ...template,
    ...(payload_template !== undefined && {
      payload: render(payload_template, { schedule_id, run_at: runAt, now }),
    }),
    labels: { ...labels, schedule_id },
    principal_kind: owner.slice(0, colon),
    principal_id: owner.slice(colon + 1),
    principal_ai,
    parent_task_id: schedule_id,
    caused_by_receipt_id: receipt_id,
    idempotency_key: `schedule:${schedule_id}:${isoTime(runAt)}`,
  }
}
