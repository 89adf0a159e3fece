import type { WorkerOptions } from './options.ts'
import { Worker } from './worker.ts'

export { GateError } from '../client/transport.ts'
export type { TaskContext, TaskInfo } from './context.ts'
export type { Duration } from './duration.ts'
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
} from './errors.ts'
export type { TaskSignal } from './lease.ts'
export { jsonLogger, type Logger, type LogLevel, type TaskLog } from './log.ts'
export type { TaskEnd, TypeMetrics, WorkerMetrics } from './metrics.ts'
export type { WorkerOptions } from './options.ts'
export type { Progress } from './progress.ts'
export type { Approval, ApprovalRequest, AskRequest } from './questions.ts'
export { MAX_INLINE_BYTES, type ResultStore, type StoredResult } from './results.ts'
export type { SchemaInput, SchemaOutput, StandardSchema } from './schema.ts'
export { type TaskDefinition, type TaskOptions, task } from './task.ts'
export type { RunOptions, Worker } from './worker.ts'

/** A worker that does these tasks. It begins with `run()`. */
export function worker(options: WorkerOptions): Worker {
  return new Worker(options)
}
