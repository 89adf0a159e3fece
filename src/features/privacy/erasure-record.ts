import { z } from 'zod'
import type { PrincipalKey } from '../../core/principal.ts'

/** The steps of an erasure, in order. Receipts come after tasks, so that those about the earlier steps are erased too. */
const STAGES = ['keys', 'tasks', 'receipts', 'archives', 'done'] as const

export const erasureRecord = z.object({
  requested_at: z.number(),
  requested_by: z.custom<PrincipalKey>((value) => typeof value === 'string'),
  finished_at: z.number().nullable(),
  stage: z.enum(STAGES),
  /** The stage continues after this key, below the seq of this task, after the seq of this receipt, or after this archive. */
  position: z.union([z.string(), z.number()]).nullable(),
  /** The newest receipt that the erasure covers; null before the stage of receipts. */
  last_seq: z.number().nullable(),
  keys: z.number(),
  tasks: z.number(),
  receipts: z.number(),
})

export type ErasureRecord = z.output<typeof erasureRecord>

export function newErasure(requested_by: PrincipalKey, requested_at: number): ErasureRecord {
  return {
    requested_at,
    requested_by,
    finished_at: null,
    stage: 'keys',
    position: null,
    last_seq: null,
    keys: 0,
    tasks: 0,
    receipts: 0,
  }
}
