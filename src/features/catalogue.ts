import { listAgents } from './agents/list-agents.ts'
import { listAudit } from './audit/list-audit.ts'
import {
  abortBulkOperation,
  getBulkOperation,
  listBulkOperations,
  startBulkOperation,
} from './bulk-operations/operations.ts'
import type { Operation } from './define-operation.ts'
import { fetchTaskEmail, getEmail, listEmails, retryEmail } from './email/get-email.ts'
import { sendEmail } from './email/send-email.ts'
import { getTaskTree, listChildren } from './flow/children.ts'
import { getHistory } from './history/get-history.ts'
import { listIdentities, putIdentity, removeIdentity } from './identities/operations.ts'
import { inboxStats, listInbox } from './inbox/list-inbox.ts'
import { markInbox } from './inbox/mark-inbox.ts'
import { createKey, getKey, listKeys, revokeKey, rotateKey } from './keys/operations.ts'
import { appendLogs } from './leases/append-logs.ts'
import { complete, completeMany, fail } from './leases/complete.ts'
import { leaseNext } from './leases/lease-next.ts'
import { releaseLease, renewLease, renewMany, reportCancel, startTask } from './leases/lease-operations.ts'
import { reportProgress } from './leases/report-progress.ts'
import { getCheckpoint, getReceiptProof } from './ledger-log/operations.ts'
import { getLimits, setLimits } from './limits/operations.ts'
import { createOauthClient, listOauthClients, removeOauthClient, revokeTokens } from './oauth/operations.ts'
import { getOverview } from './overview/get-overview.ts'
import {
  getPolicy,
  listPolicies,
  listRedactionPatterns,
  putPolicy,
  putRedactionPattern,
  removePolicy,
  removeRedactionPattern,
} from './policies/policies.ts'
import { previewPolicy } from './policies/preview-policy.ts'
import { testPolicy } from './policies/test-policy.ts'
import { erasePrincipal, exportPrincipal, getErasure } from './privacy/operations.ts'
import { getApproval, listApprovals } from './questions/approvals.ts'
import { approve } from './questions/approve.ts'
import { ask } from './questions/ask.ts'
import { answerQuestion, deny } from './questions/decision.ts'
import { bootstrap } from './receipts/bootstrap.ts'
import { ackReceipt, checkTerminator, getReceipt } from './receipts/get-receipt.ts'
import { listOpenObligations, listReceipts } from './receipts/list-receipts.ts'
import { listReceiptsLedger } from './receipts/list-receipts-ledger.ts'
import { archiveTaskResult, promoteTaskResult } from './results/archive-task-result.ts'
import { fetchTaskResult } from './results/fetch-task-result.ts'
import { controlRetention, getRetention } from './retention/operations.ts'
import { pauseSchedule, runScheduleNow } from './schedules/control-schedule.ts'
import { getSchedule, listSchedules } from './schedules/list-schedules.ts'
import { recordSchedule, reportStaleSchedule, runSchedule } from './schedules/record-schedule.ts'
import { getConfig, health } from './server/server.ts'
import { endSession, getSession, listSessions, setSession } from './sessions/operations.ts'
import { getTaskType, listTaskTypes, registerTaskType, removeTaskType } from './task-types/operations.ts'
import { cancelTask, cancelTasks } from './tasks/cancel-tasks.ts'
import { createTask, createTasks } from './tasks/create-task.ts'
import { listLogs } from './tasks/list-logs.ts'
import { getTask, getTaskProgress } from './tasks/read-task.ts'
import { retryTask } from './tasks/retry-task.ts'
import { countTasks, listTasks } from './tasks/task-search.ts'
import { waitForTask } from './tasks/wait-for-task.ts'
import {
  acceptUpstreamTool,
  addUpstream,
  getUpstream,
  listUpstreams,
  removeUpstream,
} from './upstreams/operations.ts'
import { getUsage } from './usage/get-usage.ts'
import {
  drainWorker,
  listWorkers,
  registerWorker,
  unregisterWorker,
  workerHeartbeat,
} from './workers/operations.ts'

/** Every public operation, in the order in which documents list them. */
export const CATALOGUE = [
  createTask,
  createTasks,
  getTask,
  getTaskProgress,
  listLogs,
  listChildren,
  getTaskTree,
  waitForTask,
  listTasks,
  countTasks,
  cancelTask,
  cancelTasks,
  retryTask,
  startBulkOperation,
  getBulkOperation,
  listBulkOperations,
  abortBulkOperation,
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
  getReceiptProof,
  getCheckpoint,
  checkTerminator,
  ackReceipt,
  listInbox,
  markInbox,
  inboxStats,
  getOverview,
  getHistory,
  listAgents,
  listSchedules,
  getSchedule,
  runScheduleNow,
  pauseSchedule,
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
  previewPolicy,
  listRedactionPatterns,
  putRedactionPattern,
  removeRedactionPattern,
  listSessions,
  getSession,
  setSession,
  endSession,
  createKey,
  listKeys,
  getKey,
  rotateKey,
  revokeKey,
  createOauthClient,
  listOauthClients,
  removeOauthClient,
  revokeTokens,
  putIdentity,
  listIdentities,
  removeIdentity,
  getLimits,
  setLimits,
  listAudit,
  exportPrincipal,
  erasePrincipal,
  getErasure,
  getUsage,
  getRetention,
  controlRetention,
  getConfig,
  health,
] as const

export type OperationName = (typeof CATALOGUE)[number]['name']

export const OPERATIONS: readonly Operation[] = CATALOGUE

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]))

export function findOperation(name: string): Operation | undefined {
  return byName.get(name)
}
