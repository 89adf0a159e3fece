import type { Client } from '../client/index.ts'
import { GateError } from '../client/transport.ts'
import type { JsonObject } from '../core/json/json.ts'
import { isPrincipalKind, type PrincipalKey } from '../core/principal.ts'
import { isoTime } from '../core/time.ts'
import type { Schedule } from './schedule.ts'

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
  fire(schedule: Schedule, runAt: number): Promise<'created' | 'duplicate'>
  reportStale(schedule: Schedule, runAt: number): Promise<void>
  asked(taskId: string): Promise<Asked>
  /** Resolves with the id of the receipt. */
  record(
    lease: Lease,
    event: 'created' | 'deleted' | 'paused' | 'resumed',
    scheduleId: string,
    schedule: JsonObject,
  ): Promise<string>
}

const TIMEOUT_MS = 15_000

/** Tries of a fire are counted and spaced by the ticker. */
const ONCE = { timeoutMs: TIMEOUT_MS, retry: false } as const

export function scheduleGate(client: Client, workerId: string): ScheduleGate {
  return {
    async fire({ schedule_id }, runAt) {
      const input = { worker_id: workerId, schedule_id, run_at: isoTime(runAt) }
      const { is_duplicate } = await client.runSchedule(input, ONCE)
      return is_duplicate ? 'duplicate' : 'created'
    },
    async reportStale({ schedule_id, last_status }, runAt) {
      const input = {
        worker_id: workerId,
        schedule_id,
        next_run_at: isoTime(runAt),
        reason: staleReason(last_status),
      }
      await client.reportStaleSchedule(input, ONCE)
    },
    async asked(taskId) {
      const { created_by, principal_ai, created_at } = await readHeld(client, workerId, taskId)
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

/** A task that this scheduler holds, read as its holder. A key that is bound to a principal says itself who calls. */
async function readHeld(client: Client, workerId: string, task_id: string) {
  const asHolder = { task_id, principal_kind: 'worker', principal_id: workerId }
  try {
    return await client.getTask(asHolder)
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== 'FORBIDDEN') throw error
    return client.getTask({ task_id })
  }
}

/** Why a run hangs: what the last attempt met. If the last attempt succeeded, there was none since. */
function staleReason(lastStatus: string | null): string {
  const isFailure = lastStatus !== null && lastStatus !== 'created' && lastStatus !== 'duplicate'
  return isFailure ? lastStatus : 'the scheduler did not run'
}
