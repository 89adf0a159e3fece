import type { Task } from './operations.ts'

/** A task with a typed result. */
export interface TaskOf<Result> extends Omit<Task, 'result'> {
  /** Present when the task has ended. */
  readonly result?: Omit<NonNullable<Task['result']>, 'result'> & { readonly result: Result }
}

/** A task that did not end in success. */
export abstract class TaskError extends Error {
  readonly task: Task

  constructor(message: string, task: Task) {
    super(message)
    this.task = task
  }
}

/** The task has failed permanently. `task.result.error` is the error of its worker or of the server. */
export class TaskFailed extends TaskError {
  override readonly name = 'TaskFailed'

  constructor(task: Task) {
    super(`The task ${task.task_id} (${task.type}) has failed: ${messageOf(task)}`, task)
  }
}

export class TaskCanceled extends TaskError {
  override readonly name = 'TaskCanceled'

  constructor(task: Task) {
    super(`The task ${task.task_id} (${task.type}) was canceled.`, task)
  }
}

/** The wait timed out before the task ended. The task continues: wait again, or cancel it. */
export class WaitTimeout extends Error {
  override readonly name = 'WaitTimeout'
  readonly taskId: string
  /** The last known state of the task. */
  readonly task: Task | undefined

  constructor(taskId: string, timeoutMs: number, task: Task | undefined) {
    super(`The task ${taskId} has not ended within ${timeoutMs} ms${task ? `; it is ${task.status}` : ''}.`)
    this.taskId = taskId
    this.task = task
  }
}

/** The result of an ended task. Throws TaskFailed or TaskCanceled. */
export function resultOf<Result>(task: TaskOf<Result>): Result {
  if (task.status === 'failed') throw new TaskFailed(task)
  if (task.status === 'canceled') throw new TaskCanceled(task)
  if (task.result === undefined)
    throw new TypeError(`The task ${task.task_id} has not ended; it is ${task.status}.`)
  return task.result.result
}

function messageOf({ result }: Task): string {
  const error: unknown = result?.error
  if (typeof error !== 'object' || error === null) return String(error ?? 'no reason was given')
  const message: unknown = 'message' in error ? error.message : undefined
  return typeof message === 'string' ? message : JSON.stringify(error)
}
