import type { ChildCounts, ChildLink, FlowChanges, TaskLink, Unsettled } from './flow.ts'

/** Collects what a decision changes of the relations between tasks. */
export class FlowDraft implements FlowChanges {
  readonly linked: TaskLink[] = []
  readonly followed: TaskLink[] = []
  readonly children: ChildLink[] = []
  readonly counts: ChildCounts[] = []
  readonly unsettled: Unsettled[] = []
  readonly settled: Unsettled[] = []
  readonly unfinished: Unsettled[] = []
}
