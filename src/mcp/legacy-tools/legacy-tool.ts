import { z } from 'zod'
import { callerOf, type Fields, splitIdentity } from '../../auth/caller.ts'
import type { Caller } from '../../core/principal.ts'
import type { Operation } from '../../features/define-operation.ts'
import type { Gate } from '../../features/gate.ts'
import type { InboxItemView } from '../../features/inbox/shape.ts'
import { parse } from '../../features/input.ts'
import type { TaskView } from '../../features/tasks/shape.ts'
import { withIdentity } from '../tools/identity.ts'
import type { Call } from '../tools/tool.ts'

export interface LegacyContext {
  readonly gate: Gate
}

/** A tool with its legacy name, input and output. */
export interface LegacyTool<Input extends z.ZodObject = z.ZodObject>
  extends Pick<Operation, 'title' | 'description' | 'output' | 'actor' | 'effect'> {
  readonly name: string
  /** The operation that replaces it, for the documentation. */
  readonly now: string
  readonly input: Input
  /** The identity of the caller that follows from the input, if the call names none. */
  identity?(input: z.output<Input>, context: LegacyContext, call: Call): Fields | Promise<Fields>
  run(context: LegacyContext, caller: Caller, input: z.output<Input>, call: LegacyCall): Promise<object>
}

export interface LegacyCall extends Call {
  /** The result of `identity`. */
  readonly implied: Fields
}

/** A tool whose input type is hidden, so that tools fit into one list. */
export interface AnyLegacyTool extends Omit<LegacyTool, 'identity' | 'run'> {
  call(context: LegacyContext, args: Fields, call: Call): Promise<object>
}

export function legacyTool<Input extends z.ZodObject>(tool: LegacyTool<Input>): AnyLegacyTool {
  const { identity, run, ...described } = tool
  return {
    ...described,
    async call(context, args, call) {
      if (call.flaw) throw call.flaw
      const { identity: named, rest } = splitIdentity(args, (name) => name in tool.input.shape)
      const input = parse(tool.input, rest)
      const implied = (await identity?.(input, context, call)) ?? {}
      const called = { actor: tool.actor, input: { shape: {} } }
      const { caller } = callerOf(
        call.credential,
        called,
        withIdentity({ ...implied, ...named }, call, called),
        call.origin,
      )
      return run(context, caller, input, { ...call, implied })
    },
  }
}

export const LEGACY_STATUSES = ['queued', 'running', 'complete', 'failed', 'dead_letter', 'canceled'] as const
export type LegacyStatus = (typeof LEGACY_STATUSES)[number]

const STATUSES: Readonly<Record<TaskView['status'], LegacyStatus>> = {
  queued: 'queued',
  leased: 'running',
  running: 'running',
  // No worker has them.
  pending_approval: 'queued',
  input_required: 'queued',
  succeeded: 'complete',
  failed: 'failed',
  canceled: 'canceled',
}

export function legacyStatus({
  status,
  dead_letter,
}: Pick<TaskView, 'status' | 'dead_letter'>): LegacyStatus {
  return dead_letter ? 'dead_letter' : STATUSES[status]
}

const time = z.iso.datetime().nullable()

export const notificationShape = z.object({
  id: z.string(),
  task_id: z.string().nullable(),
  task_type: z.string().nullable(),
  notification_type: z.string(),
  summary: z.string(),
  status: z.enum(LEGACY_STATUSES).nullable(),
  created_at: z.iso.datetime(),
  delivered_at: time,
  delivery_count: z.int(),
  read_at: time,
  fetched_at: time,
  promoted_to_memory_at: time,
  archived_at: time,
})

export type Notification = z.output<typeof notificationShape>

export function notificationOf(item: InboxItemView): Notification {
  const { status, dead_letter } = item
  return {
    id: item.receipt_id,
    task_id: item.task_id,
    task_type: item.type,
    notification_type: notificationType(item),
    summary: item.summary,
    status: status === null ? null : legacyStatus({ status, dead_letter }),
    created_at: item.created_at,
    delivered_at: item.delivered_at,
    delivery_count: item.delivery_count,
    read_at: item.read_at,
    fetched_at: item.fetched_at,
    promoted_to_memory_at: item.promoted_at,
    archived_at: item.archived_at,
  }
}

/** Results are named by their status, other notifications by their receipt, for example lease_expired. */
function notificationType({ receipt_type, status, dead_letter }: InboxItemView): string {
  if (receipt_type !== 'task.result_ready' || status === null) return receipt_type.replace('.', '_')
  return `task_${legacyStatus({ status, dead_letter })}`
}

export function progressOf(progress: TaskView['progress']): {
  percent: number | null
  message: string | null
} {
  const { percent, message } = progress ?? {}
  return {
    percent: typeof percent === 'number' ? percent : null,
    message: typeof message === 'string' ? message : null,
  }
}
