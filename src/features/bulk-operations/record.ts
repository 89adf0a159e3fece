import { z } from 'zod'
import { type PrincipalKey, ROLES } from '../../core/principal.ts'
import { STATUSES } from '../../core/transitions.ts'

export const BULK_ACTIONS = ['cancel', 'retry'] as const
export type BulkAction = (typeof BULK_ACTIONS)[number]

export const BULK_STATES = ['running', 'done', 'aborted'] as const

const principalKey = z.custom<PrincipalKey>((value) => typeof value === 'string' && value.includes(':'))

export const bulkRecord = z.object({
  action: z.enum(BULK_ACTIONS),
  state: z.enum(BULK_STATES),
  /** The tasks with these ids, or those that match a filter. */
  selection: z.union([
    z.object({ task_ids: z.array(z.string()) }),
    z.object({
      status: z.enum(STATUSES).optional(),
      type: z.string().optional(),
      created_by: principalKey.optional(),
      session_id: z.string().optional(),
      labels: z.record(z.string(), z.string()).optional(),
      query: z.string().optional(),
    }),
  ]),
  reason: z.string().nullable(),
  tenant: z.string(),
  requested_by: principalKey,
  role: z.enum(ROLES),
  requested_at: z.number(),
  finished_at: z.number().nullable(),
  /** The operation continues below the seq of this task, or with this item of the ids. */
  position: z.number(),
  total: z.number(),
  is_total_exact: z.boolean(),
  done: z.number(),
  skipped: z.number(),
  failed: z.number(),
  last_error: z.string().nullable(),
})

export type BulkRecord = z.output<typeof bulkRecord>

export type BulkSelection = BulkRecord['selection']

/** Also for an operation by ids that has ended, because the ids are then removed. */
export function isByIds(selection: BulkSelection): selection is { task_ids: string[] } {
  return 'task_ids' in selection
}
