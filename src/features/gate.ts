import type { Caller, PrincipalKey } from '../core/principal.ts'
import type { CommitListener, TaskListener } from '../engine/events.ts'
import { fetchTaskEmail, getEmail, listEmails, retryEmail, sendEmail } from './email/verbs.ts'
import { getInboxItem } from './inbox/get-inbox-item.ts'
import { inboxStats } from './inbox/inbox-stats.ts'
import { listInbox } from './inbox/list-inbox.ts'
import { markInbox } from './inbox/mark-inbox.ts'
import { appendLogs } from './leases/append-logs.ts'
import { claim } from './leases/claim.ts'
import { complete } from './leases/complete.ts'
import { completeMany } from './leases/complete-many.ts'
import { fail } from './leases/fail.ts'
import { findLease } from './leases/find-lease.ts'
import { progress } from './leases/progress.ts'
import { release } from './leases/release.ts'
import { renew } from './leases/renew.ts'
import { renewMany } from './leases/renew-many.ts'
import { reportCancel } from './leases/report-cancel.ts'
import { start } from './leases/start.ts'
import {
  getPolicy,
  listPatterns,
  listPolicies,
  putPattern,
  putPolicy,
  removePattern,
  removePolicy,
  testPolicy,
} from './policies/verbs.ts'
import { answerQuestion, approve, deny } from './questions/answer.ts'
import { getApproval, listApprovals } from './questions/approvals.ts'
import { ask } from './questions/ask.ts'
import { acknowledge } from './receipts/acknowledge.ts'
import { bootstrap } from './receipts/bootstrap.ts'
import { listLedger } from './receipts/ledger.ts'
import { listObligations } from './receipts/obligations.ts'
import { checkTerminator, getReceipt, listReceipts } from './receipts/receipts.ts'
import { archiveResult } from './results/archive-result.ts'
import { fetchResult } from './results/fetch-result.ts'
import { openResult } from './results/open-result.ts'
import { promoteResult } from './results/promote-result.ts'
import type { ResultContent } from './results/result-store.ts'
import { uploadResult } from './results/upload-result.ts'
import { recordSchedule, reportStale } from './schedules/record-schedule.ts'
import { runSchedule } from './schedules/run-schedule.ts'
import { getConfig, health } from './server/server.ts'
import { Services, type ServicesOptions } from './services.ts'
import type { Client } from './sessions/sessions.ts'
import {
  absentTool,
  callTool,
  clientLeft,
  endSession,
  getSession,
  listSessions,
  onUpstreamTools,
  setSession,
  upstreamTools,
} from './sessions/verbs.ts'
import { getTaskType, listTaskTypes, toolTypes } from './task-types/reads.ts'
import { registerTaskType } from './task-types/register-task-type.ts'
import { removeTaskType } from './task-types/remove-task-type.ts'
import { activeTasks } from './tasks/active-tasks.ts'
import { cancel } from './tasks/cancel.ts'
import { cancelMany } from './tasks/cancel-many.ts'
import { countTasks } from './tasks/count-tasks.ts'
import { create } from './tasks/create.ts'
import { createMany } from './tasks/create-many.ts'
import { type ChangeListener, follow } from './tasks/follow.ts'
import { getProgress } from './tasks/get-progress.ts'
import { getTask, peekTask } from './tasks/get-task.ts'
import { listLogs } from './tasks/list-logs.ts'
import { listTasks } from './tasks/list-tasks.ts'
import { peekTasks } from './tasks/peek-tasks.ts'
import { retry } from './tasks/retry.ts'
import { stats } from './tasks/stats.ts'
import { waitForTask } from './tasks/wait-for-task.ts'
import { completeArgument, upstreamOffers } from './upstreams/offers.ts'
import { NO_OFFERS } from './upstreams/reads.ts'
import type { Completing } from './upstreams/upstreams.ts'
import {
  acceptUpstreamTool,
  addUpstream,
  getUpstream,
  listUpstreams,
  removeUpstream,
} from './upstreams/verbs.ts'
import { drainWorker } from './workers/drain-worker.ts'
import { listWorkers } from './workers/list-workers.ts'
import { registerWorker, unregisterWorker, workerHeartbeat } from './workers/register-worker.ts'

export interface GateOptions extends ServicesOptions {
  /** Whether to sweep by itself; on unless said otherwise. */
  readonly sweeping?: boolean
}

export type Gate = ReturnType<typeof openGate>

/**
 * A gate over an open store, which it owns from now on. Every verb takes who calls and what it asks, checks both,
 * and answers in the public shape or rejects with a Fault.
 */
export function openGate(options: GateOptions) {
  const engine = new Services(options)
  if (options.sweeping ?? true) {
    engine.sweeps.start()
    engine.uploads.start()
    engine.scheduleWatch.start()
  }
  const verb =
    <Answer>(run: Verb<Answer>) =>
    (caller: Caller, input: unknown = {}, signal?: AbortSignal) =>
      run(engine, caller, input, signal)
  return {
    create: verb(create),
    createMany: verb(createMany),
    claim: verb(claim),
    start: verb(start),
    renew: verb(renew),
    renewMany: verb(renewMany),
    release: verb(release),
    progress: verb(progress),
    complete: verb(complete),
    completeMany: verb(completeMany),
    fail: verb(fail),
    reportCancel: verb(reportCancel),
    ask: verb(ask),
    approve: verb(approve),
    deny: verb(deny),
    answerQuestion: verb(answerQuestion),
    listApprovals: verb(listApprovals),
    getApproval: verb(getApproval),
    cancel: verb(cancel),
    cancelMany: verb(cancelMany),
    retry: verb(retry),
    acknowledge: verb(acknowledge),
    fetchResult: verb(fetchResult),
    archiveResult: verb(archiveResult),
    /** The result of a task as a stream, wherever it is. */
    openResult: verb(openResult),
    /** Stores the result of a task that is being worked on. Resolves with the artifact to be named in complete. */
    uploadResult: (caller: Caller, input: unknown, content: ResultContent) =>
      uploadResult(engine, caller, input, content),
    /** Removes uploads that no task uses; resolves with how many. */
    sweepUploads: (now?: number) => engine.uploads.sweep(now),
    recordSchedule: verb(recordSchedule),
    reportStale: verb(reportStale),
    runSchedule: verb(runSchedule),
    /** Tells owners of overdue schedules now; resolves with how many there are. */
    sweepSchedules: () => engine.scheduleWatch.sweep(),
    getTask: verb(getTask),
    getProgress: verb(getProgress),
    appendLogs: verb(appendLogs),
    listLogs: verb(listLogs),
    listTasks: verb(listTasks),
    countTasks: verb(countTasks),
    waitForTask: verb(waitForTask),
    listReceipts: verb(listReceipts),
    getReceipt: verb(getReceipt),
    listLedger: verb(listLedger),
    checkTerminator: verb(checkTerminator),
    listObligations: verb(listObligations),
    bootstrap: verb(bootstrap),
    listInbox: verb(listInbox),
    getInboxItem: verb(getInboxItem),
    markInbox: verb(markInbox),
    inboxStats: verb(inboxStats),
    promoteResult: verb(promoteResult),
    peekTask: verb(peekTask),
    /** Those of the tasks that the caller may see. */
    peekTasks: verb(peekTasks),
    /** Whether other processes may change tasks too. */
    isShared: options.store.shared,
    activeTasks: verb(activeTasks),
    registerTaskType: verb(registerTaskType),
    getTaskType: verb(getTaskType),
    listTaskTypes: verb(listTaskTypes),
    removeTaskType: verb(removeTaskType),
    registerWorker: verb(registerWorker),
    workerHeartbeat: verb(workerHeartbeat),
    unregisterWorker: verb(unregisterWorker),
    listWorkers: verb(listWorkers),
    /** The task and the holder of a lease. The task need only be named for leases from before an upgrade. */
    findLease: (tenant: string, leaseId: string, taskId?: unknown) =>
      findLease(engine, tenant, leaseId, taskId),
    drainWorker: verb(drainWorker),
    /** The types of a tenant that are tools of their own. The same list as long as they are the same. */
    toolTypes: (tenant: string) => toolTypes(engine, tenant),
    /** Calls back when some tenant's tools are others. Returns the way to stop listening. */
    onToolTypes: (listener: () => void) => engine.taskTypes.onTools(listener),
    sendEmail: verb(sendEmail),
    listEmails: verb(listEmails),
    getEmail: verb(getEmail),
    retryEmail: verb(retryEmail),
    fetchTaskEmail: verb(fetchTaskEmail),
    listUpstreams: verb(listUpstreams),
    getUpstream: verb(getUpstream),
    addUpstream: verb(addUpstream),
    removeUpstream: verb(removeUpstream),
    acceptUpstreamTool: verb(acceptUpstreamTool),
    listPolicies: verb(listPolicies),
    getPolicy: verb(getPolicy),
    putPolicy: verb(putPolicy),
    removePolicy: verb(removePolicy),
    testPolicy: verb(testPolicy),
    listPatterns: verb(listPatterns),
    putPattern: verb(putPattern),
    removePattern: verb(removePattern),
    /** The tools of upstreams that a tenant may call. The same list as long as they are the same. */
    upstreamTools: (tenant: string) => upstreamTools(engine, tenant),
    /** Of these, the names of those that the rules block whatever the arguments: for everybody, or for one caller. */
    blockedTools: (tenant: string, principal?: PrincipalKey) => engine.blockedTools.names(tenant, principal),
    /** Calls back when these, or those that are blocked, are others. Returns the way to stop listening. */
    onUpstreamTools: (listener: () => void) => onUpstreamTools(engine, listener),
    /** What upstreams offer a tenant besides tools. The same object as long as it is the same. */
    upstreamOffers: (tenant: string) => upstreamOffers(engine, tenant),
    /** Which upstreams have prompts, resources and completions, of whichever tenant. */
    upstreamsHaving: () => (engine.upstreams?.offers() ?? NO_OFFERS).having,
    onUpstreamOffers: (listener: (kind: 'prompts' | 'resources') => void) =>
      engine.upstreams?.onOffers(listener) ?? (() => {}),
    completeArgument: (caller: Caller, upstream: string, asked: Completing, signal?: AbortSignal) =>
      completeArgument(engine, caller, upstream, asked, signal),
    /** Why a tool that is not among them cannot be called; undefined if it is not that of an upstream. */
    absentTool: (tenant: string, name: string) => absentTool(engine, tenant, name),
    /** A call of an upstream's tool, as a task of the session of its client. */
    callTool: (caller: Caller, call: unknown, client: Client, key?: string) =>
      callTool(engine, caller, call, client, key),
    /** A client is gone: its sessions end as is configured. */
    clientLeft: (tenant: string, instance: string, principal?: PrincipalKey) =>
      clientLeft(engine, tenant, instance, principal),
    listSessions: verb(listSessions),
    getSession: verb(getSession),
    setSession: verb(setSession),
    endSession: verb(endSession),
    /** Where the gateway gets its calls. */
    toolCalls: engine.toolCalls,
    getConfig: verb(getConfig),
    health: () => health(engine),
    settings: engine.settings,
    /** Where people look at tasks and decide about them. */
    links: engine.links,
    /** Task changes of this process as they commit. Returns the way to stop listening. */
    onTask: (listener: TaskListener) => engine.events.onTask(listener),
    /** Batches of this process as they commit. Returns the way to stop listening. */
    onCommit: (listener: CommitListener) => engine.events.onCommit(listener),
    /** Task changes that the caller may see and asks for. Resolves with the way to stop listening. */
    follow: (caller: Caller, input: unknown, listener: ChangeListener) =>
      follow(engine, caller, input, listener),
    /** What is open in the tenants that this process has served. */
    stats: () => stats(engine),
    /** Deals with lapsed leases, timeouts and due delays now; resolves with how many tasks that was. */
    sweep: () => engine.sweeps.sweep(),
    /** Stops sweeping, lets waiting calls answer and running ones finish, and closes the store. */
    async close() {
      await engine.stop()
      await engine.store.close()
    },
  }
}

type Verb<Answer> = (
  engine: Services,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
) => Promise<Answer>
