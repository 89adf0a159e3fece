import type { z } from 'zod'
import type { Permission } from '../core/authorization.ts'
import { type Caller, DEFAULT_TENANT, type PrincipalKey, type RequestOrigin } from '../core/principal.ts'
import type { Confirmation } from '../engine/confirmation.ts'
import type { CommitListener, TaskListener } from '../engine/events.ts'
import { withDecision } from './audit/decisions.ts'
import type { AuditEvent } from './audit/port.ts'
import { type Proven, type Refused, recordRefusal } from './audit/recording.ts'
import { type CATALOGUE, OPERATIONS } from './catalogue.ts'
import type { Operation } from './define-operation.ts'
import { getInboxItem } from './inbox/list-inbox.ts'
import { resultNotice } from './inbox/result-notice.ts'
import { findLease } from './leases/lease-call.ts'
import { type LedgerVerification, verifyLedgers } from './ledger-log/verify-ledgers.ts'
import { type ClientDecision, decideInClient } from './questions/client-decision.ts'
import { type LedgerAnomaly, reportLedgerAnomaly } from './receipts/ledger-anomaly.ts'
import { type RemoteCompletion, reconcileTask } from './receipts/reconcile.ts'
import { openResult } from './results/open-result.ts'
import type { ResultContent } from './results/result-store.ts'
import { uploadResult } from './results/upload-result.ts'
import { checkHealth } from './server/server.ts'
import { Services, type ServicesOptions } from './services.ts'
import { callTool, clientLeft } from './sessions/operations.ts'
import type { Client } from './sessions/sessions.ts'
import { toolTypes } from './task-types/operations.ts'
import { activeTasks } from './tasks/active-tasks.ts'
import { type CallState, openCall, sealCall } from './tasks/call-state.ts'
import { completeTaskId } from './tasks/complete-task-id.ts'
import { type ChangeListener, follow } from './tasks/follow.ts'
import { peekTask, peekTasks } from './tasks/read-task.ts'
import { stats } from './tasks/stats.ts'
import {
  absentTool,
  completeArgument,
  onUpstreamTools,
  upstreamOffers,
  upstreamTools,
} from './upstreams/offers.ts'
import type { Completing } from './upstreams/upstreams.ts'
import { completedTasks } from './webhooks/completed-tasks.ts'

export interface GateOptions extends ServicesOptions {
  /** Whether due tasks are swept in the background; true by default. */
  readonly sweeping?: boolean
}

export type Gate = ReturnType<typeof openGate>

/**
 * A gate over an open store, which the gate owns from now on. Every operation is a method: it takes the caller and the
 * input, checks both, and resolves with the public shape or rejects with a Fault. The other members serve the protocols.
 */
export function openGate(options: GateOptions) {
  const services = new Services(options)
  const { engine, uploads, scheduleWatch, erasures, retention, upstreams, audit, keyUses, usage, history } =
    services
  if (options.sweeping ?? true) {
    engine.sweeps.start()
    uploads.start()
    scheduleWatch.start()
    erasures.start()
    services.bulkOperations.start()
    retention.start()
    audit.startSweeps()
    usage.start()
    history.start()
    services.checkpointer?.start()
  }
  const decided = <Result>(name: string, access: Permission, caller: Caller, run: () => Promise<Result>) =>
    withDecision(services.onDecision, { name, access }, caller, run)
  return {
    ...operationMethods(services),
    /** Runs an operation of the catalogue, or any other one. */
    call: <Output extends z.ZodType<object>>(
      operation: Operation<string, z.ZodObject, Output>,
      caller: Caller,
      input: unknown,
      signal?: AbortSignal,
    ) => operation.call(services, caller, input, signal),
    /** The result of a task as a stream, from the channel that stores it. */
    openResult: (caller: Caller, input: unknown) =>
      decided('open_result', 'read', caller, () => openResult(services, caller, input)),
    /** Stores the result of a running task. Resolves with the artifact to list in complete. */
    uploadResult: (caller: Caller, input: unknown, content: ResultContent) =>
      decided('upload_result', 'lease', caller, () => uploadResult(services, caller, input, content)),
    /** Removes uploads that no task lists. Resolves with their number. */
    sweepUploads: (now?: number) => uploads.sweep(now),
    /** Continues erasures that no server works on. */
    sweepErasures: () => erasures.sweep(),
    /** Continues bulk operations that no server works on. */
    sweepBulkOperations: () => services.bulkOperations.sweep(),
    /** Applies the retention of all tenants. */
    sweepRetention: () => retention.sweep(),
    /** Notifies the owners of overdue schedules. Resolves with the number of overdue schedules. */
    sweepSchedules: () => scheduleWatch.sweep(),
    getInboxItem: (caller: Caller, input: unknown) =>
      decided('get_inbox_item', 'receipts', caller, () => getInboxItem(engine, caller, input)),
    /** Reads a task without counting its result as fetched. */
    peekTask: (caller: Caller, input: unknown) =>
      decided('peek_task', 'read', caller, () => peekTask(services, caller, input)),
    /** The tasks among those named that the caller may see. */
    peekTasks: (caller: Caller, input: unknown) =>
      decided('peek_tasks', 'read', caller, () => peekTasks(services, caller, input)),
    /** Decides an approval as the user of the client that asked for it, where a rule allows that. */
    decideInClient: (caller: Caller, client: Client, decision: ClientDecision) =>
      decided('decide_in_client', 'answer', caller, () => decideInClient(services, caller, client, decision)),
    /** The state of a tool call that its client will repeat, as a signed text. */
    sealCall: (caller: Caller, tool: string, state: CallState) => sealCall(engine, caller, tool, state),
    openCall: (caller: Caller, tool: string, sealed: string) => openCall(engine, caller, tool, sealed),
    /** The newest tasks of the caller whose ids begin with a prefix. */
    completeTaskId: (caller: Caller, input: unknown) =>
      decided('complete_task_id', 'list', caller, () => completeTaskId(engine, caller, input)),
    /** Whether other processes can change tasks too. */
    isShared: options.store.shared,
    activeTasks: (caller: Caller, input: unknown = {}) =>
      decided('active_tasks', 'list', caller, () => activeTasks(engine, caller, input)),
    /** The task and the holder of a lease. The task id is only needed for leases from before an upgrade. */
    findLease: (tenant: string, leaseId: string, taskId?: unknown) =>
      findLease(engine, tenant, leaseId, taskId),
    /** The task types of a tenant that are tools. The same array until they change. */
    toolTypes: (tenant: string) => toolTypes(services, tenant),
    /** Calls back when the tools of a tenant change. Returns an unsubscribe function. */
    onToolTypes: (listener: () => void) => services.taskTypes.onTools(listener),
    /** The upstream tools that a tenant may call. The same array until they change. */
    upstreamTools: (tenant: string) => upstreamTools(services, tenant),
    /** The names of upstream tools that rules block for any arguments, for all callers or for one. */
    blockedTools: (tenant: string, principal?: PrincipalKey) =>
      services.blockedTools.names(tenant, principal),
    /** Calls back when upstream tools or blocked tools change. Returns an unsubscribe function. */
    onUpstreamTools: (listener: () => void) => onUpstreamTools(services, listener),
    /** The prompts and resources of upstreams for a tenant. The same object until they change. */
    upstreamOffers: (tenant: string) => upstreamOffers(services, tenant),
    onUpstreamOffers: (listener: (kind: 'prompts' | 'resources') => void) =>
      upstreams?.onOffers(listener) ?? (() => {}),
    completeArgument: (caller: Caller, upstream: string, asked: Completing, signal?: AbortSignal) =>
      decided('complete_argument', 'create', caller, () =>
        completeArgument(services, caller, upstream, asked, signal),
      ),
    /** Why an unlisted upstream tool cannot be called; undefined if the name is not that of an upstream tool. */
    absentTool: (tenant: string, name: string) => absentTool(services, tenant, name),
    /** Creates the task for a call of an upstream tool in the session of its client. */
    callTool: (caller: Caller, call: unknown, client: Client, key?: string) =>
      decided('call_tool', 'create', caller, () => callTool(services, caller, call, client, key)),
    /** Ends the sessions of a client that has disconnected, as configured. */
    clientLeft: (tenant: string, instance: string, principal?: PrincipalKey) =>
      clientLeft(services, tenant, instance, principal),
    /** The queue from which the gateway claims its calls. */
    toolCalls: services.toolCalls,
    /** What the inbox says about a result, for the inbox of another system. */
    resultNotice: (tenant: string, seq: number) => resultNotice(engine, tenant, seq),
    /** The attempts to send completion webhooks. */
    webhookAttempts: services.webhookAttempts,
    /** The receipts that this process sends to the shared ledger. */
    ledgerEmissions: services.ledgerEmissions,
    /** The completion webhooks of those of these tasks that have one. */
    completedTasks: async (tenant: string, taskIds: readonly string[]) =>
      completedTasks(services, (await engine.tenant(tenant)).tenant, taskIds),
    /** A secret of the database for one purpose, the same on all servers. */
    secretFor: (purpose: string) => engine.secretFor(purpose),
    rateLimits: {
      /** Counts a request that runs no operation. Rejects if the caller has reached a limit. */
      count: async (caller: Caller, name: string) => services.rateLimits.count(caller, name),
    },
    /** The issued keys of all tenants. */
    keys: services.keys,
    /** The number of a tenant. */
    tenant: (name: string) => engine.tenant(name),
    /** What the authorization server stores. */
    oauth: services.oauth,
    /** The people of identity providers who may sign in, of all tenants. */
    identities: services.identities,
    /** The audit log. */
    audit: {
      record: (event: AuditEvent) => audit.record(event),
      /** Calls back with every event. Returns an unsubscribe function. */
      onEvent: (listener: (event: AuditEvent) => void) => audit.onEvent(listener),
      /** Records a refused request, if it concerns security. Refusals of operations are recorded already. */
      refused: (error: unknown, from: Omit<Refused, 'tenant'> & { tenant?: string | undefined }) =>
        recordRefusal(audit, error, { ...from, tenant: from.tenant ?? DEFAULT_TENANT }),
      /** Records the first use of a key in an hour. */
      authenticated: (proven: Proven, origin?: RequestOrigin) => keyUses.used(proven, origin),
      /** Removes events after their retention period. Resolves with their number. */
      sweep: (now?: number) => audit.sweep(now),
    },
    /** Writes an anomaly about the shared ledger. */
    reportLedgerAnomaly: (tenant: string, anomaly: LedgerAnomaly) =>
      reportLedgerAnomaly(engine, tenant, anomaly),
    /** From now on the answers to callers wait until the changes are confirmed. */
    useConfirmation: (confirmation: Confirmation) => engine.useConfirmation(confirmation),
    /** Ends a task that its worker has ended in the shared ledger. */
    reconcileTask: async (tenant: string, completion: RemoteCompletion) =>
      reconcileTask(services, await engine.tenant(tenant), completion),
    /** Usage of the tenants. */
    usage: {
      /** Writes what this process has counted. */
      flush: () => usage.flush(),
      /** The listener is called when events were written. */
      onWritten: (listener: () => void) => usage.onWritten(listener),
      /** Removes events after their retention period. Resolves with their number. */
      sweep: (now?: number) => usage.sweep(now),
    },
    /** The history of tasks. */
    history: {
      /** Writes what this process has counted. */
      flush: () => history.flush(),
      /** Removes what is older than its retention period. Resolves with the number of removed periods. */
      sweep: () => history.sweep(),
    },
    /** The logs of the tenants. */
    ledgerLogs: services.ledgerLogs,
    /** Verifies the receipts of the tenant, or of all, against the checkpoints. */
    verifyLedgers: (only: string | undefined, verification: LedgerVerification) =>
      verifyLedgers({ store: engine.store, archive: retention.archive }, only, verification),
    checkHealth: () => checkHealth(engine.store),
    settings: engine.settings,
    /** URLs of the console. */
    links: services.links,
    /** Task changes of this process as they commit. Returns an unsubscribe function. */
    onTask: (listener: TaskListener) => engine.events.onTask(listener),
    /** Batches of this process as they commit. Returns an unsubscribe function. */
    onCommit: (listener: CommitListener) => engine.events.onCommit(listener),
    /** Task changes that match the filter and that the caller may see. Resolves with an unsubscribe function. */
    follow: (caller: Caller, input: unknown, listener: ChangeListener) =>
      decided('follow', 'read', caller, () => follow(engine, caller, input, listener)),
    /** Statistics of the tenants that this process has served. */
    stats: () => stats(services),
    /** Processes expired leases, timeouts and due delays. Resolves with the number of tasks. */
    sweep: () => engine.sweeps.sweep(),
    /** Resolves when everything that finished requests left to be written has been written. */
    settled: () => services.settled(),
    /** Stops sweeping, lets waiting calls return and running ones finish, and closes the store. */
    async close() {
      await services.stop()
      await engine.store.close()
    },
  }
}

/** One method per operation of the catalogue, named in camel case: `create_task` is `createTask`. */
type OperationMethods = {
  readonly [Entry in (typeof CATALOGUE)[number] as CamelCase<Entry['name']>]: (
    caller: Caller,
    input?: unknown,
    signal?: AbortSignal,
  ) => ReturnType<Entry['call']>
}

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

function operationMethods(services: Services): OperationMethods {
  const methods = OPERATIONS.map((operation) => [
    camelCase(operation.name),
    (caller: Caller, input: unknown = {}, signal?: AbortSignal) =>
      operation.call(services, caller, input, signal),
  ])
  // The compiler cannot follow names through Object.fromEntries; the type says the same as the code above.
  return Object.fromEntries(methods) as OperationMethods
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
