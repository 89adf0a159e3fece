import type { z } from 'zod'
import type { Caller, PrincipalKey } from '../core/principal.ts'
import type { CommitListener, TaskListener } from '../engine/events.ts'
import { type CATALOGUE, OPERATIONS } from './catalogue.ts'
import type { Operation } from './define-operation.ts'
import { getInboxItem } from './inbox/list-inbox.ts'
import { findLease } from './leases/find-lease.ts'
import { openResult } from './results/open-result.ts'
import type { ResultContent } from './results/result-store.ts'
import { uploadResult } from './results/upload-result.ts'
import { checkHealth } from './server/server.ts'
import { Services, type ServicesOptions } from './services.ts'
import { callTool, clientLeft } from './sessions/call-tool.ts'
import type { Client } from './sessions/sessions.ts'
import { toolTypes } from './task-types/list-task-types.ts'
import { activeTasks } from './tasks/active-tasks.ts'
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
import { NO_OFFERS } from './upstreams/reads.ts'
import type { Completing } from './upstreams/upstreams.ts'

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
  const services = new Services(options)
  if (options.sweeping ?? true) {
    services.sweeps.start()
    services.uploads.start()
    services.scheduleWatch.start()
  }
  const verb =
    <Result>(run: Verb<Result>) =>
    (caller: Caller, input: unknown = {}, signal?: AbortSignal) =>
      run(services, caller, input, signal)
  return {
    ...operationMethods(services),
    /** Runs an operation of the catalogue, or any other one. */
    call: <Output extends z.ZodType<object>>(
      operation: Operation<string, z.ZodObject, Output>,
      caller: Caller,
      input: unknown,
      signal?: AbortSignal,
    ) => operation.call(services, caller, input, signal),
    /** The result of a task as a stream, wherever it is. */
    openResult: verb(openResult),
    /** Stores the result of a task that is being worked on. Resolves with the artifact to be named in complete. */
    uploadResult: (caller: Caller, input: unknown, content: ResultContent) =>
      uploadResult(services, caller, input, content),
    /** Removes uploads that no task uses; resolves with how many. */
    sweepUploads: (now?: number) => services.uploads.sweep(now),
    /** Tells owners of overdue schedules now; resolves with how many there are. */
    sweepSchedules: () => services.scheduleWatch.sweep(),
    getInboxItem: verb(getInboxItem),
    peekTask: verb(peekTask),
    /** Those of the tasks that the caller may see. */
    peekTasks: verb(peekTasks),
    /** Whether other processes may change tasks too. */
    isShared: options.store.shared,
    activeTasks: verb(activeTasks),
    /** The task and the holder of a lease. The task need only be named for leases from before an upgrade. */
    findLease: (tenant: string, leaseId: string, taskId?: unknown) =>
      findLease(services, tenant, leaseId, taskId),
    /** The types of a tenant that are tools of their own. The same list as long as they are the same. */
    toolTypes: (tenant: string) => toolTypes(services, tenant),
    /** Calls back when some tenant's tools are others. Returns the way to stop listening. */
    onToolTypes: (listener: () => void) => services.taskTypes.onTools(listener),
    /** The tools of upstreams that a tenant may call. The same list as long as they are the same. */
    upstreamTools: (tenant: string) => upstreamTools(services, tenant),
    /** Of these, the names of those that the rules block whatever the arguments: for everybody, or for one caller. */
    blockedTools: (tenant: string, principal?: PrincipalKey) =>
      services.blockedTools.names(tenant, principal),
    /** Calls back when these, or those that are blocked, are others. Returns the way to stop listening. */
    onUpstreamTools: (listener: () => void) => onUpstreamTools(services, listener),
    /** What upstreams offer a tenant besides tools. The same object as long as it is the same. */
    upstreamOffers: (tenant: string) => upstreamOffers(services, tenant),
    /** Which upstreams have prompts, resources and completions, of whichever tenant. */
    upstreamsHaving: () => (services.upstreams?.offers() ?? NO_OFFERS).having,
    onUpstreamOffers: (listener: (kind: 'prompts' | 'resources') => void) =>
      services.upstreams?.onOffers(listener) ?? (() => {}),
    completeArgument: (caller: Caller, upstream: string, asked: Completing, signal?: AbortSignal) =>
      completeArgument(services, caller, upstream, asked, signal),
    /** Why a tool that is not among them cannot be called; undefined if it is not that of an upstream. */
    absentTool: (tenant: string, name: string) => absentTool(services, tenant, name),
    /** A call of an upstream's tool, as a task of the session of its client. */
    callTool: (caller: Caller, call: unknown, client: Client, key?: string) =>
      callTool(services, caller, call, client, key),
    /** A client is gone: its sessions end as is configured. */
    clientLeft: (tenant: string, instance: string, principal?: PrincipalKey) =>
      clientLeft(services, tenant, instance, principal),
    /** Where the gateway gets its calls. */
    toolCalls: services.toolCalls,
    checkHealth: () => checkHealth(services.store),
    settings: services.settings,
    /** Where people look at tasks and decide about them. */
    links: services.links,
    /** Task changes of this process as they commit. Returns the way to stop listening. */
    onTask: (listener: TaskListener) => services.events.onTask(listener),
    /** Batches of this process as they commit. Returns the way to stop listening. */
    onCommit: (listener: CommitListener) => services.events.onCommit(listener),
    /** Task changes that the caller may see and asks for. Resolves with the way to stop listening. */
    follow: (caller: Caller, input: unknown, listener: ChangeListener) =>
      follow(services, caller, input, listener),
    /** What is open in the tenants that this process has served. */
    stats: () => stats(services),
    /** Deals with lapsed leases, timeouts and due delays now; resolves with how many tasks that was. */
    sweep: () => services.sweeps.sweep(),
    /** Stops sweeping, lets waiting calls answer and running ones finish, and closes the store. */
    async close() {
      await services.stop()
      await services.store.close()
    },
  }
}

type Verb<Result> = (
  services: Services,
  caller: Caller,
  input: unknown,
  signal?: AbortSignal,
) => Promise<Result>

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
