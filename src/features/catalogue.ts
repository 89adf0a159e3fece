import type { Operation } from './define-operation.ts'
import { fetchTaskEmail, getEmail, listEmails, retryEmail } from './email/get-email.ts'
import { sendEmail } from './email/send-email.ts'
import { inboxStats } from './inbox/inbox-stats.ts'
import { listInbox } from './inbox/list-inbox.ts'
import { markInbox } from './inbox/mark-inbox.ts'
import { appendLogs } from './leases/append-logs.ts'
import { complete, completeMany } from './leases/complete.ts'
import { fail } from './leases/fail.ts'
import { leaseNext } from './leases/lease-next.ts'
import { releaseLease } from './leases/release-lease.ts'
import { renewLease, renewMany } from './leases/renew-lease.ts'
import { reportCancel } from './leases/report-cancel.ts'
import { reportProgress } from './leases/report-progress.ts'
import { startTask } from './leases/start-task.ts'
import { getPolicy, listPolicies, putPolicy, removePolicy } from './policies/policies.ts'
import {
  listRedactionPatterns,
  putRedactionPattern,
  removeRedactionPattern,
} from './policies/redaction-patterns.ts'
import { testPolicy } from './policies/test-policy.ts'
import { answerQuestion } from './questions/answer-question.ts'
import { getApproval, listApprovals } from './questions/approvals.ts'
import { approve } from './questions/approve.ts'
import { ask } from './questions/ask.ts'
import { deny } from './questions/deny.ts'
import { bootstrap } from './receipts/bootstrap.ts'
import { ackReceipt, checkTerminator, getReceipt } from './receipts/get-receipt.ts'
import { listOpenObligations } from './receipts/list-open-obligations.ts'
import { listReceipts } from './receipts/list-receipts.ts'
import { listReceiptsLedger } from './receipts/list-receipts-ledger.ts'
import { archiveTaskResult } from './results/archive-task-result.ts'
import { fetchTaskResult } from './results/fetch-task-result.ts'
import { promoteTaskResult } from './results/promote-task-result.ts'
import { recordSchedule, reportStaleSchedule } from './schedules/record-schedule.ts'
import { runSchedule } from './schedules/run-schedule.ts'
import { getConfig, health } from './server/server.ts'
import { endSession, getSession, listSessions, setSession } from './sessions/list-sessions.ts'
import { getTaskType, listTaskTypes } from './task-types/list-task-types.ts'
import { registerTaskType, removeTaskType } from './task-types/register-task-type.ts'
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
import { acceptUpstreamTool, addUpstream, removeUpstream } from './upstreams/add-upstream.ts'
import { getUpstream, listUpstreams } from './upstreams/get-upstream.ts'
import { drainWorker, listWorkers } from './workers/list-workers.ts'
import { registerWorker, unregisterWorker, workerHeartbeat } from './workers/register-worker.ts'

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
  listApprovals,
  getApproval,
  approve,
  deny,
  ask,
  answerQuestion,
  fetchTaskResult,
  archiveTaskResult,
  promoteTaskResult,
  listOpenObligations,
  bootstrap,
  listReceipts,
  listReceiptsLedger,
  getReceipt,
  checkTerminator,
  ackReceipt,
  listInbox,
  markInbox,
  inboxStats,
  recordSchedule,
  runSchedule,
  reportStaleSchedule,
  registerTaskType,
  getTaskType,
  listTaskTypes,
  removeTaskType,
  registerWorker,
  workerHeartbeat,
  unregisterWorker,
  listWorkers,
  drainWorker,
  sendEmail,
  listEmails,
  getEmail,
  retryEmail,
  fetchTaskEmail,
  listUpstreams,
  getUpstream,
  addUpstream,
  removeUpstream,
  acceptUpstreamTool,
  listPolicies,
  getPolicy,
  putPolicy,
  removePolicy,
  testPolicy,
  listRedactionPatterns,
  putRedactionPattern,
  removeRedactionPattern,
  listSessions,
  getSession,
  setSession,
  endSession,
  getConfig,
  health,
] as const

export type OperationName = (typeof CATALOGUE)[number]['name']

export const OPERATIONS: readonly Operation[] = CATALOGUE

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}
