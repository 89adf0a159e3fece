import { GateError } from '../client/gate-error.ts'
import type { Client } from '../client/index.ts'
import type { JsonObject } from '../core/json/json.ts'
import { isPrincipalKind, type PrincipalKey } from '../core/principal.ts'
import { isoTime } from '../core/time.ts'
import type { Schedule } from './schedule.ts'

/** Who requested a schedule, and when, by the clock of the store. */
interface Request {
  readonly owner: PrincipalKey
  readonly principal_ai: string
  readonly created_at: number
}

/** The lease of a control task. */
export interface Lease {
  readonly task_id: string
  readonly lease_id: string
}

export type ScheduleGate = ReturnType<typeof scheduleGate>

const TIMEOUT_MS = 15_000

/** The ticker retries. */
const ONCE = { timeoutMs: TIMEOUT_MS, retry: false } as const

/** The requests of a scheduler to the server. */
export function scheduleGate(client: Client, workerId: string) {
  return {
    /** Creates the task of a run; `duplicate` if it exists, no matter which scheduler created it. */
    async fire({ schedule_id }: Schedule, runAt: number): Promise<'created' | 'duplicate'> {
      const input = { worker_id: workerId, schedule_id, run_at: isoTime(runAt) }
      const { is_duplicate } = await client.runSchedule(input, ONCE)
      return is_duplicate ? 'duplicate' : 'created'
    },
    async reportStale({ schedule_id, last_status }: Schedule, runAt: number): Promise<void> {
      const input = {
        worker_id: workerId,
        schedule_id,
        next_run_at: isoTime(runAt),
        reason: staleReason(last_status),
      }
      await client.reportStaleSchedule(input, ONCE)
    },
    /** Reads who created a control task. */
    async requestOf(taskId: string): Promise<Request> {
      const { created_by, principal_ai, created_at } = await readHeld(client, workerId, taskId)
      if (!isPrincipalKind(created_by.kind)) throw new Error(`${created_by.kind} is not a kind of principal`)
      return {
        owner: `${created_by.kind}:${created_by.id}`,
        principal_ai,
        created_at: Date.parse(created_at),
      }
    },
    /** Resolves with the id of the receipt. */
    async record(
      lease: Lease,
      event: 'created' | 'deleted' | 'paused' | 'resumed',
      schedule_id: string,
      schedule: JsonObject,
    ): Promise<string> {
      const input = { worker_id: workerId, ...lease, event, schedule_id, schedule }
      return (await client.recordSchedule(input)).receipt_id
    },
  }
}

/** Reads a task as its lease holder. A key that is bound to a principal does not allow to name another one. */
async function readHeld(client: Client, workerId: string, task_id: string) {
  const asHolder = { task_id, principal_kind: 'worker', principal_id: workerId }
  try {
    return await client.getTask(asHolder)
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== 'FORBIDDEN') throw error
    return client.getTask({ task_id })
  }
}

/** Why a run is overdue: the error of the last attempt. If that succeeded, there was no attempt since. */
function staleReason(lastStatus: string | null): string {
  const isFailure = lastStatus !== null && lastStatus !== 'created' && lastStatus !== 'duplicate'
  return isFailure ? lastStatus : 'the scheduler did not run'
}
