import { canonical } from '../../core/json/json.ts'
import type { DoneTask, TaskSpec } from '../../core/task.ts'
import { isoTime } from '../../core/time.ts'
import type { Erasure } from '../erasure.ts'
import { OpenSegment, type Segment } from './segments.ts'
import { type TaskRow, taskRow } from './task-head.ts'
import { type DoneRow, encodeDetails } from './task-state.ts'

export interface SegmentChange {
  readonly first: number
  readonly before: string
  readonly after: string
  /** By how much the bodies of its receipts become shorter. */
  readonly bytes: number
}

/** The columns of an ended task in which its contents were. */
export type ErasedTask = Pick<TaskRow, 'tenant' | 'seq' | 'head' | 'input'> &
  Pick<DoneRow, 'result' | 'details'> & {
    readonly task_id: string
    /** Instead of the request of a question, by its kind. */
    readonly approval: string
    readonly question: string
    /** Instead of an answer. */
    readonly answer: string
  }

/** What a database has to provide. */
export interface ErasureStatements {
  segments(tenant: number, after: number, limit: number): Promise<Segment[]>
  /**
   * Replaces the texts that are still as they were, and subtracts the bytes of these from the size of the receipts of the
   * tenant; resolves with the bytes of each that was replaced.
   */
  replace(tenant: number, changes: readonly SegmentChange[]): Promise<readonly number[]>
  task(erased: ErasedTask): Promise<void>
  relationship(tenant: number, principal: string): Promise<void>
}

export function erasureOn(statements: ErasureStatements): Erasure {
  return {
    async receipts(tenant, after, limit, isSelected, now) {
      for (let bytes = 0; ; ) {
        const segments = await statements.segments(tenant, after, limit)
        let erased = 0
        const changes = segments.flatMap((segment): SegmentChange[] => {
          const without = new OpenSegment(segment).without(isSelected, now)
          if (without === undefined) return []
          erased += without.count
          const { first, receipts: before } = segment
          return [{ first, before, after: without.segment.receipts, bytes: without.bytes }]
        })
        // Another erasure may have changed one of them in between. Then all are read again.
        const replaced = changes.length === 0 ? [] : await statements.replace(tenant, changes)
        for (const size of replaced) bytes += size
        if (replaced.length < changes.length) continue
        return { next: segments.length < limit ? null : (segments.at(-1)?.first ?? null), erased, bytes }
      }
    },
    task: (task, spec, now) => statements.task(erasedTask(task, spec, now)),
    relationship: (tenant, principal) => statements.relationship(tenant, principal),
  }
}

function erasedTask({ task_id, outcome }: DoneTask, spec: TaskSpec, now: number): ErasedTask {
  const erased = { erased_at: isoTime(now) }
  const { tenant, seq, head, input } = taskRow({
    ...spec,
    labels: null,
    policy: null,
    input: canonical({ payload: erased, type: spec.type }),
  })
  return {
    tenant,
    seq,
    task_id,
    head,
    input,
    result: outcome.result === null ? null : canonical(erased),
    details: encodeDetails({
      ...outcome,
      // A task that has not succeeded has an error.
      error: outcome.error === null ? null : canonical({ ...erased, message: 'erased' }),
      artifacts: null,
      delivery_proof: null,
    }),
    approval: canonical({ ...erased, title: 'Erased' }),
    question: canonical({ ...erased, message: 'Erased' }),
    answer: canonical(erased),
  }
}
