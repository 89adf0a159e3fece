import { z } from 'zod'
import { TERMINAL_STATUSES } from '../../core/transitions.ts'

/**
 * The stages of a run, in order: give ended tasks the time at which their retention ends, remove the contents of tasks and
 * archive them with their receipts, make room where a quota is nearly used up, archive other receipts.
 */
const STAGES = ['schedule', 'tasks', 'quota', 'receipts', 'done'] as const

/** How far the retention of a tenant has been applied. It is written after each step. */
export const retentionRecord = z.object({
  is_paused: z.boolean(),
  /** The server that works on it until `held_until`. */
  holder: z.string(),
  held_until: z.int(),
  stage: z.enum(STAGES),
  /** The stage continues after this seq. */
  position: z.int(),
  /** Of the tasks that are being given a time. */
  status: z.enum(TERMINAL_STATUSES),
  /** The settings for which all ended tasks have got a time. */
  scheduled_for: z.string(),
  /** When receipts about no task were last archived. */
  receipts_at: z.int(),
  /** An archive that the tables may not name. */
  unused_file: z.string().nullable(),
  started_at: z.int().nullable(),
  finished_at: z.int().nullable(),
  /** Since the beginning. */
  cleared_tasks: z.int(),
  archived_tasks: z.int(),
  archived_receipts: z.int(),
})

export type RetentionRecord = z.output<typeof retentionRecord>

export const NEW_RECORD: RetentionRecord = {
  is_paused: false,
  holder: '',
  held_until: 0,
  stage: 'done',
  position: 0,
  status: 'succeeded',
  scheduled_for: '',
  receipts_at: 0,
  unused_file: null,
  started_at: null,
  finished_at: null,
  cleared_tasks: 0,
  archived_tasks: 0,
  archived_receipts: 0,
}
