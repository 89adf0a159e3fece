import type { Failure } from './errors.ts'
import type { TaskLog } from './log.ts'
import type { TaskInfo } from './task-info.ts'

/** The run that a hook is about. */
export interface HookEvent {
  readonly task: TaskInfo
  /** The number of failed attempts before this one: 0 for the first. */
  readonly attempt: number
  /** The log of the task. */
  readonly log: TaskLog
  /** The same for every attempt of this task: for idempotent external calls. */
  readonly idempotencyKey: string
}

export interface SuccessEvent<Result = unknown> extends HookEvent {
  /** The result as it is reported: parsed by `output`, before it is moved to a channel. */
  readonly result: Result
}

export interface FailureEvent extends HookEvent {
  /** The error as the owner of the task sees it: `code`, `message` and possibly `name` and `details`. */
  readonly error: Failure['error']
  /** Whether another attempt follows. If not, the task fails. */
  readonly willRetry: boolean
}

/**
 * Functions that are called around the runs of tasks. They are awaited while the worker holds the lease. An error is logged
 * and does not change the outcome.
 */
export interface Hooks<Result = unknown> {
  /** Before each run of the handler: at the first attempt, and again after a retry, an answer or a lost lease. */
  onStart?(event: HookEvent): unknown
  /** After the handler has returned a valid result, before it is reported: at least once for a task that succeeds. */
  onSuccess?(event: SuccessEvent<Result>): unknown
  /** After each failed attempt, before it is reported. `willRetry` is false for the last one. */
  onFailure?(event: FailureEvent): unknown
  /** After a handler has ended whose task was canceled while it ran. */
  onCancel?(event: HookEvent): unknown
}

const HOOKS = ['onStart', 'onSuccess', 'onFailure', 'onCancel'] as const satisfies (keyof Hooks)[]

/** The hooks of a task or worker, without its other members; undefined if it has none. Throws if one is not a function. */
export function hooksOf(owner: string, given: Hooks): Hooks | undefined {
  for (const name of HOOKS) {
    if (given[name] !== undefined && typeof given[name] !== 'function') {
      throw new TypeError(`${owner}: ${name} must be a function.`)
    }
  }
  if (HOOKS.every((name) => given[name] === undefined)) return undefined
  return {
    onStart: (event) => given.onStart?.(event),
    onSuccess: (event) => given.onSuccess?.(event),
    onFailure: (event) => given.onFailure?.(event),
    onCancel: (event) => given.onCancel?.(event),
  }
}
