import type { Operation } from './define-operation.ts'
import { emailOperations } from './email/operations.ts'
import { inboxOperations } from './inbox/operations.ts'
import { appendLogs } from './leases/append-logs.ts'
import { complete, completeMany } from './leases/complete.ts'
import { fail } from './leases/fail.ts'
import { leaseNext } from './leases/lease-next.ts'
import { releaseLease } from './leases/release-lease.ts'
import { renewLease, renewMany } from './leases/renew-lease.ts'
import { reportCancel } from './leases/report-cancel.ts'
import { reportProgress } from './leases/report-progress.ts'
import { startTask } from './leases/start-task.ts'
import { policyOperations } from './policies/operations.ts'
import { questionOperations } from './questions/operations.ts'
import { receiptOperations, serverOperations } from './receipts/operations.ts'
import { archiveTaskResult } from './results/archive-task-result.ts'
import { fetchTaskResult } from './results/fetch-task-result.ts'
import { promoteTaskResult } from './results/promote-task-result.ts'
import { recordSchedule, reportStaleSchedule } from './schedules/record-schedule.ts'
import { runSchedule } from './schedules/run-schedule.ts'
import { sessionOperations } from './sessions/operations.ts'
import { taskTypeOperations } from './task-types/operations.ts'
import { cancelTask } from './tasks/cancel-task.ts'
import { cancelTasks } from './tasks/cancel-tasks.ts'
import { countTasks } from './tasks/count-tasks.ts'
import { createTask, createTasks } from './tasks/create-task.ts'
import { getTask } from './tasks/get-task.ts'
import { getTaskProgress } from './tasks/get-task-progress.ts'
import { listLogs } from './tasks/list-logs.ts'
import { listTasks } from './tasks/list-tasks.ts'
import { retryTask } from './tasks/retry-task.ts'
import { waitForTask } from './tasks/wait-for-task.ts'
import { upstreamOperations } from './upstreams/operations.ts'
import { workerOperations } from './workers/operations.ts'

/** Every public operation, in the order in which documents list them. */
export const CATALOGUE = [
  createTask,
  createTasks,
  getTask,
  getTaskProgress,
  listLogs,
  waitForTask,
  listTasks,
  countTasks,
  cancelTask,
  cancelTasks,
  retryTask,
  leaseNext,
  startTask,
  renewLease,
  renewMany,
  reportProgress,
  appendLogs,
  complete,
  completeMany,
  fail,
  releaseLease,
  reportCancel,
  ...questionOperations,
  fetchTaskResult,
  archiveTaskResult,
  promoteTaskResult,
  ...receiptOperations,
  ...inboxOperations,
  recordSchedule,
  runSchedule,
  reportStaleSchedule,
  ...taskTypeOperations,
  ...workerOperations,
  ...emailOperations,
  ...upstreamOperations,
  ...policyOperations,
  ...sessionOperations,
  ...serverOperations,
] as const

export type OperationName = (typeof CATALOGUE)[number]['name']

export const OPERATIONS: readonly Operation[] = CATALOGUE

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}
