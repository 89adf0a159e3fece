import type { WorkerOptions } from './options.ts'
import { Worker } from './worker.ts'

export { GateError } from '../client/gate-error.ts'
export type { CronOptions, ScheduleOwner } from './cron-options.ts'
export {
  type AbortKind,
  type FailureOptions,
  Parked,
  Permanent,
  Permanent as FatalError,
  RetryAfter,
  RetryableError,
  type RetryOptions,
  TaskAborted,
  type TaskSignal,
} from './errors.ts'
export type { FailureEvent, HookEvent, Hooks, SuccessEvent } from './hooks.ts'
export { jsonLogger, type Logger, type LogLevel, type TaskLog } from './log.ts'
export type { TaskEnd, TypeMetrics, WorkerMetrics } from './metrics.ts'
export type { WorkerOptions } from './options.ts'
export type { Approval, ApprovalRequest, AskRequest } from './questions.ts'
export { MAX_INLINE_BYTES, type ResultStore, type StoredResult } from './results.ts'
export type { JsonSchema, SchemaInput, SchemaOutput, StandardSchema } from './schema.ts'
export {
  type Progress,
  type TaskContext,
  type TaskDefinition,
  type TaskOptions,
  type ToolOptions,
  task,
} from './task.ts'
export type { TaskInfo } from './task-info.ts'
export type { TaskPolicy, TaskRetry } from './task-policy.ts'
export type { Duration } from './timing.ts'
export type { RunOptions, Worker } from './worker.ts'

/** Creates a worker for these tasks. `run()` starts it. */
export function worker(options: WorkerOptions): Worker {
  return new Worker(options)
}
