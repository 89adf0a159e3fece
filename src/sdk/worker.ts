import type { WorkerOptions } from './worker/options.ts'
import { Worker } from './worker/worker.ts'

export { GateError } from './transport.ts'
export type { TaskContext, TaskInfo } from './worker/context.ts'
export type { Duration } from './worker/duration.ts'
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
} from './worker/errors.ts'
export type { TaskSignal } from './worker/lease.ts'
export { jsonLogger, type Logger, type LogLevel, type TaskLog } from './worker/log.ts'
export type { TaskEnd, TypeMetrics, WorkerMetrics } from './worker/metrics.ts'
export type { WorkerOptions } from './worker/options.ts'
export type { Progress } from './worker/progress.ts'
export type { Approval, ApprovalRequest, AskRequest } from './worker/questions.ts'
export { MAX_INLINE_BYTES, type ResultStore, type StoredResult } from './worker/results.ts'
export type { SchemaInput, SchemaOutput, StandardSchema } from './worker/schema.ts'
export { type TaskDefinition, type TaskOptions, task } from './worker/task.ts'
export type { RunOptions, Worker } from './worker/worker.ts'

/** A worker that does these tasks. It begins with `run()`. */
export function worker(options: WorkerOptions): Worker {
  return new Worker(options)
}
