import { z } from 'zod'
import type { JsonObject } from '../../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoTime } from '../../core/time.ts'
import type { Holder } from '../../store/reads.ts'
import { principalShape } from '../fields.ts'
import { jsonObject } from '../input.ts'

export const WORKER_STATES = ['idle', 'busy', 'offline'] as const
export type WorkerState = (typeof WORKER_STATES)[number]

/** A worker as it is kept. */
export interface WorkerRecord {
  readonly holder: PrincipalKey
  readonly worker_type: string | null
  readonly capabilities: readonly string[]
  /** Null: of any type. */
  readonly accept_types: readonly string[] | null
  readonly config: JsonObject | null
  /** The process that called last, where it says so. */
  readonly instance_id: string | null
  readonly first_seen_at: number
  readonly last_seen_at: number
  readonly claimed: number
  readonly completed: number
  readonly failed: number
}

const time = z.iso.datetime()

export const workerShape = z.object({
  worker_id: z.string(),
  state: z.enum(WORKER_STATES).meta({ description: 'offline: it holds no lease and has not been heard of' }),
  drain: z.boolean().meta({ description: 'It is told to stop, and gets no more tasks' }),
  principal: principalShape,
  worker_type: z.string().nullable(),
  instance_id: z
    .string()
    .nullable()
    .meta({ description: 'Its process that was heard of last, if it says so' }),
  capabilities: z.array(z.string()).readonly(),
  accept_types: z.array(z.string()).readonly().nullable().meta({ description: 'null: any' }),
  leased: z.int().meta({ description: 'Leases on tasks that it has not started' }),
  running: z.int(),
  next_expires_at: time.nullable().meta({ description: 'When the first of its leases lapses' }),
  claimed: z.int().meta({ description: 'Tasks that it was given' }),
  completed: z.int(),
  failed: z.int().meta({ description: 'Failures that it reported' }),
  first_seen_at: time,
  last_seen_at: time,
  config: jsonObject.optional().meta({ description: 'For admins: what it said when it registered' }),
})

export type WorkerView = z.output<typeof workerShape>

export interface Circumstances {
  readonly now: number
  readonly offlineMs: number
  readonly holder: Holder | undefined
  readonly drain: boolean
  readonly withConfig: boolean
}

export function workerView(worker_id: string, record: WorkerRecord, around: Circumstances): WorkerView {
  const { holder, config, first_seen_at, last_seen_at, ...rest } = record
  const { leased = 0, running = 0, next_expires_at } = around.holder ?? {}
  return {
    worker_id,
    state: stateOf(record, around),
    drain: around.drain,
    principal: parsePrincipalKey(holder),
    ...rest,
    leased,
    running,
    next_expires_at: next_expires_at === undefined ? null : isoTime(next_expires_at),
    first_seen_at: isoTime(first_seen_at),
    last_seen_at: isoTime(last_seen_at),
    ...(around.withConfig && config !== null && { config }),
  }
}

/** Who holds a lease is at work, however long it has been silent: the lease says when that is over. */
export function stateOf(
  { last_seen_at }: WorkerRecord,
  { now, offlineMs, holder }: Pick<Circumstances, 'now' | 'offlineMs' | 'holder'>,
): WorkerState {
  if (holder !== undefined) return 'busy'
  return now - last_seen_at > offlineMs ? 'offline' : 'idle'
}
