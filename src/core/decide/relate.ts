import { forbidden } from '../authorization.ts'
import type { Create, Relations } from '../command.ts'
import type { Draft } from '../draft.ts'
import { Fault, invalid } from '../errors.ts'
import { type FailurePolicy, isFulfilled, NO_FLOW, type Waiting, type WaitMode } from '../flow.ts'
import { canonical } from '../json/json.ts'
import type { PrincipalKey } from '../principal.ts'
import { isOpen, type OpenTask, type QueuedTask, type Task, type TaskCore, withFlow } from '../task.ts'
import { cutAtDeadline, FOREVER } from '../time.ts'

export interface Related {
  readonly task: QueuedTask
  /** A task that the new one depends on, and that has not succeeded; undefined if the new one can be done. */
  readonly failed: Task | undefined
}

/**
 * Relates a new task to its parent and to the tasks that it depends on. Those exist already, so dependencies have no
 * cycles.
 */
export function relate(draft: Draft, made: QueuedTask, command: Create, relations: Relations): Related {
  const parent = parentOf(draft, command.owner, relations)
  const task = parent === undefined ? made : addChild(draft, made, parent, relations)
  if (relations.depends_on.length === 0) return { task, failed: undefined }
  const awaited = relations.depends_on.map(({ task_id, on_failure }) => ({
    task: dependency(draft, task_id, command.owner, relations),
    on_failure,
  }))
  return waitFor(draft, task, awaited, relations.mode)
}

/** A parent that has ended, or that the caller does not own, is a label without effect. */
function parentOf(draft: Draft, owner: PrincipalKey, relations: Relations): OpenTask | undefined {
  if (relations.parent === null) return undefined
  const { task_id, policy } = relations.parent
  const parent = draft.world.task(task_id)
  if (parent !== undefined && isOpen(parent) && isOwn(parent, owner, relations)) return parent
  if (policy !== null)
    throw invalid('parent_policy', 'needs a parent_task_id that names an open task of yours')
  return undefined
}

function addChild(draft: Draft, made: QueuedTask, parent: OpenTask, relations: Relations): QueuedTask {
  const { tenant, seq, task_id } = made
  draft.flow.children.push({ tenant, parent: parent.seq, seq, task_id })
  draft.flow.counts.push({ tenant, parent: parent.seq, total: 1, succeeded: 0, failed: 0, canceled: 0 })
  if (relations.parent?.policy === 'cancel') {
    draft.flow.linked.push({ tenant, seq: parent.seq, task_id, n: 0, effect: 'part' })
  }
  markLinked(draft, parent)
  return { ...made, flow: { ...(made.flow ?? NO_FLOW), parent: parent.seq } }
}

function dependency(draft: Draft, task_id: string, owner: PrincipalKey, relations: Relations): Task {
  const task = draft.world.task(task_id)
  if (task === undefined) {
    throw new Fault(
      'TASK_NOT_FOUND',
      { task_id, field: 'depends_on' },
      `depends_on names ${task_id}, and there is no such task.`,
    )
  }
  if (!isOwn(task, owner, relations)) throw forbidden('admin', 'agent')
  return task
}

function isOwn(task: TaskCore, owner: PrincipalKey, { sees_all }: Relations): boolean {
  return sees_all || task.owner === owner || `agent:${task.principal_ai}` === owner
}

export interface Awaited {
  readonly task: Task
  readonly on_failure: FailurePolicy
}

/** Lets a queued task wait until the awaited tasks have ended. Those that have ended already count. */
export function waitFor(
  draft: Draft,
  task: QueuedTask,
  awaited: readonly Awaited[],
  mode: WaitMode,
): Related {
  const open = awaited.filter((each) => isOpen(each.task))
  const ended = awaited.filter((each) => !isOpen(each.task))
  const fulfilled = ended.filter((each) => isFulfilled(each.task.status, each.on_failure))
  const failed = ended.find((each) => !isFulfilled(each.task.status, each.on_failure))
  if (mode === 'all' && failed !== undefined) return { task, failed: failed.task }
  const isReleased = open.length === 0 || (mode === 'any' && fulfilled.length > 0)
  if (isReleased) return { task, failed: fulfilled.length === 0 ? failed?.task : undefined }
  const flow = task.flow ?? NO_FLOW
  const n = flow.waits + 1
  for (const { task: each, on_failure } of open) {
    const { tenant, task_id } = task
    draft.flow.linked.push({ tenant, seq: each.seq, task_id, n, effect: on_failure })
    if (isOpen(each)) markLinked(draft, each)
  }
  const waiting: Waiting = { n, left: open.length, mode, not_before: task.next_eligible_at }
  const waitingTask: QueuedTask = {
    ...task,
    next_eligible_at: cutAtDeadline(task, FOREVER),
    flow: { ...flow, waits: n, waiting },
  }
  return { task: waitingTask, failed: undefined }
}

/** The row of a task says that its end concerns others, so that the end of any other task looks for no links. */
function markLinked(draft: Draft, task: OpenTask): void {
  const flow = task.flow ?? NO_FLOW
  if (!flow.linked) draft.task(withFlow(task, { ...flow, linked: true }))
}

/** The error of a task that is canceled because another one did not succeed. */
export function dependencyError({ task_id, status }: Task) {
  const message = `The task ${task_id}, which this one depends on, is ${status}.`
  return { reason: message, error: canonical({ code: 'DEPENDENCY_FAILED', message, task_id }) }
}
