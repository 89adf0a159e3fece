import type { ChildCounts, ChildLink } from '../core/flow.ts'

/** Reads of the relations between tasks. */
export interface FlowReads {
  /** The children of the task with this seq, the oldest first, with a seq above `after`. */
  children(tenant: number, parent: number, after: number, limit: number): Promise<ChildLink[]>
  /** Zeros for a task without children. */
  childCounts(tenant: number, parent: number): Promise<ChildCounts>
}
