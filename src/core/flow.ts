import type { Status } from './transitions.ts'

/** Which of the awaited tasks have to end before the waiting one is released. */
export const WAIT_MODES = ['all', 'any'] as const
export type WaitMode = (typeof WAIT_MODES)[number]

/** What happens to a waiting task if the task that it waits for fails or is canceled. */
export const FAILURE_POLICIES = ['cancel', 'continue'] as const
export type FailurePolicy = (typeof FAILURE_POLICIES)[number]

/** What happens to a task if its parent fails or is canceled. */
export const PARENT_POLICIES = ['cancel', 'abandon'] as const
export type ParentPolicy = (typeof PARENT_POLICIES)[number]

export const MAX_DEPENDENCIES = 100

/** What a task has to do with other tasks. Most tasks have none of it, so it is one field of theirs. */
export interface Flow {
  /** The seq of the task that this one is part of; null if none. */
  readonly parent: number | null
  /** Whether its end concerns other tasks: some wait for it or are part of it. */
  readonly linked: boolean
  /** How many times it has waited: the number of its newest wait. */
  readonly waits: number
  /** Null unless the task waits now. A waiting task is queued or parked, and holds no lease. */
  readonly waiting: Waiting | null
}

export interface Waiting {
  /** Links of earlier waits have other numbers and do not count. */
  readonly n: number
  /** The number of tasks that have yet to end. */
  readonly left: number
  readonly mode: WaitMode
  /** The task was to be delayed until then anyway; null if not. */
  readonly not_before: number | null
}

export const NO_FLOW: Flow = { parent: null, linked: false, waits: 0, waiting: null }

/**
 * What the end of the task `seq` means for another task. `continue` and `cancel` are those of a dependency that has not
 * succeeded; `part` cancels the other, a child, with the task.
 */
export interface TaskLink {
  readonly tenant: number
  readonly seq: number
  readonly task_id: string
  /** The number of the wait; 0 for a child. */
  readonly n: number
  readonly effect: FailurePolicy | 'part'
}

/** A task that is part of another. */
export interface ChildLink {
  readonly tenant: number
  readonly parent: number
  readonly seq: number
  readonly task_id: string
}

/** How many children a task has, by what became of them; or by how much these numbers change. */
export interface ChildCounts {
  readonly tenant: number
  readonly parent: number
  readonly total: number
  readonly succeeded: number
  readonly failed: number
  readonly canceled: number
}

/** A task that has ended, while its links have not all been followed. */
export interface Unsettled {
  readonly tenant: number
  readonly seq: number
  readonly task_id: string
}

/** What a decision changes of the relations between tasks. */
export interface FlowChanges {
  readonly linked: readonly TaskLink[]
  readonly followed: readonly TaskLink[]
  readonly children: readonly ChildLink[]
  readonly counts: readonly ChildCounts[]
  readonly unsettled: readonly Unsettled[]
  /** All their links were followed. */
  readonly settled: readonly Unsettled[]
  /** They have more links than were loaded. */
  readonly unfinished: readonly Unsettled[]
}

/** The links of an ended task, or the first of them. */
export interface Links {
  readonly links: readonly TaskLink[]
  readonly more: boolean
}

export function isFulfilled(status: Status, onFailure: FailurePolicy): boolean {
  return status === 'succeeded' || onFailure === 'continue'
}

/** Adds changes of counts of the same parent. */
export function addCounts(a: ChildCounts, b: ChildCounts): ChildCounts {
  return {
    tenant: a.tenant,
    parent: a.parent,
    total: a.total + b.total,
    succeeded: a.succeeded + b.succeeded,
    failed: a.failed + b.failed,
    canceled: a.canceled + b.canceled,
  }
}
