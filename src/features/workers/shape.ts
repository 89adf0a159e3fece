import { z } from 'zod'
import type { JsonObject } from '../../core/json/json.ts'
import { type PrincipalKey, parsePrincipalKey } from '../../core/principal.ts'
import { isoOrNull, isoTime } from '../../core/time.ts'
import type { Holder } from '../../store/reads.ts'
import { jsonObject, principalShape, time } from '../input.ts'

export const WORKER_STATES = ['idle', 'busy', 'offline'] as const
export type WorkerState = (typeof WORKER_STATES)[number]

/** The stored form of a worker. */
export interface WorkerRecord {
  readonly holder: PrincipalKey
  readonly worker_type: string | null
  /** Version of its program. */
  readonly version: string | null
  readonly capabilities: readonly string[]
  /** Null: any type. */
  readonly accept_types: readonly string[] | null
  readonly config: JsonObject | null
  /** The process that called last, if it identifies itself. */
  readonly instance_id: string | null
  readonly first_seen_at: number
  readonly last_seen_at: number
  readonly claimed: number
  readonly completed: number
  readonly failed: number
}

export const workerShape = z.object({
  worker_id: z.string().describe('Name of the worker'),
  state: z
    .enum(WORKER_STATES)
    .describe('busy: holds a lease; idle: holds none and was seen recently; offline: holds none and was not'),
  drain: z.boolean().describe('Whether an admin has drained the worker; it then receives no further tasks'),
  principal: principalShape.describe('The principal that the worker last called as'),
  worker_type: z.string().nullable().describe('Kind of worker, for people; null if not given'),
  version: z.string().nullable().describe('Version of its program; null if not given'),
  instance_id: z
    .string()
    .nullable()
    .describe('The process that called last; null if it does not identify itself'),
  capabilities: z.array(z.string()).readonly().describe('Capabilities that the worker has'),
  accept_types: z
    .array(z.string())
    .readonly()
    .nullable()
    .describe('Task types that the worker accepts; null: any type'),
  leased: z.int().describe('Leases on tasks that it has not started'),
  running: z.int().describe('Leases on tasks that it has started'),
  next_expires_at: time.nullable().describe('When the first of its leases expires; null if it holds none'),
  claimed: z.int().describe('Number of tasks it has claimed'),
  completed: z.int().describe('Number of tasks it has completed'),
  failed: z.int().describe('Number of failures it has reported'),
  first_seen_at: time.describe('When it first called'),
  last_seen_at: time.describe('When it last called'),
  config: jsonObject.optional().describe('For admins: the configuration that it registered with'),
})

export type WorkerView = z.output<typeof workerShape>

export interface ViewContext {
  readonly now: number
  readonly offlineMs: number
  readonly holder: Holder | undefined
  readonly drain: boolean
  readonly withConfig: boolean
}

export function workerView(worker_id: string, record: WorkerRecord, context: ViewContext): WorkerView {
  const { holder, config, first_seen_at, last_seen_at, ...rest } = record
  const { leased = 0, running = 0, next_expires_at } = context.holder ?? {}
  return {
    worker_id,
    state: stateOf(record, context),
    drain: context.drain,
    principal: parsePrincipalKey(holder),
    ...rest,
    leased,
    running,
    next_expires_at: isoOrNull(next_expires_at ?? null),
    first_seen_at: isoTime(first_seen_at),
    last_seen_at: isoTime(last_seen_at),
    ...(context.withConfig && config !== null && { config }),
  }
}

/** A worker that holds a lease is busy, however long it has been silent, until the lease expires. */
export function stateOf(
  { last_seen_at }: WorkerRecord,
  { now, offlineMs, holder }: Pick<ViewContext, 'now' | 'offlineMs' | 'holder'>,
): WorkerState {
  if (holder !== undefined) return 'busy'
  return now - last_seen_at > offlineMs ? 'offline' : 'idle'
}
