import {
  type CallToolResult,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerCapabilities,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Credential } from '../../auth/credential.ts'
import { ERRORS, type ErrorCode, Fault } from '../../core/errors.ts'
import type { Caller, PrincipalKey } from '../../core/principal.ts'
import { withText, writeJson } from '../../engine/stored-json.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import type { CreateAnswer } from '../../features/tasks/create.ts'

/** What is known about a call besides the arguments of the tool. */
export interface Call {
  readonly credential: Credential
  /** Aborted when the client has gone or the server stops. */
  readonly signal: AbortSignal
  readonly requestId?: string | undefined
  /** What is wrong with the text of the request although it is JSON, such as a key that appears twice. */
  readonly flaw?: Fault | undefined
  /** What the request says about itself, in `params._meta`. */
  readonly meta?: Fields | undefined
  /** Calls with the same key are one call; undefined if it has none. */
  readonly key?: string | undefined
  /** The program that calls, where the connection says so. */
  readonly client?: Client | undefined
  /** How the client wants to have tasks; undefined if it knows none. */
  readonly tasks?: TaskMode | undefined
  /** Whether the client can be sent messages before the answer. */
  readonly streams?: boolean | undefined
  /** Hears how far the work is, if the client asked for that. */
  readonly progress?: ((progress: Progress) => void) | undefined
}

/** The call that a request of the SDK is; `task` is what its params say about a task, in the older era. */
export type CallOf = (context: ServerContext, task?: unknown) => Call

/** Whether a call that is held tells how far it is. A client that gets a task asks for that itself. */
export function wantsProgress({ streams, tasks, meta }: Pick<Call, 'streams' | 'tasks' | 'meta'>): boolean {
  return streams === true && tasks === undefined && meta?.progressToken !== undefined
}

/**
 * `handle`: the client knows the Tasks extension of 2026-07-28, so that a call may become a task. `task`: it is one of
 * 2025-11-25 and asks for a task.
 */
export type TaskMode = 'handle' | 'task'

export type RunTool = (args: Fields, call: Call) => Promise<CallToolResult>

/** `modern` is 2026-07-28, `legacy` whatever came before. */
export type Era = 'modern' | 'legacy'

/** The tools of a server, as they are listed and as they are called. */
export interface ToolTable {
  /** What the holder of a credential sees. The same list as long as nothing has changed. */
  list(credential: Credential, era: Era): Promise<readonly Tool[]>
  find(name: string, credential: Credential): FoundTool | undefined | Promise<FoundTool | undefined>
  /** Whether a call may wait for something; tools that are tasks wait for their end. */
  mayWait(name: string, args: Fields): boolean
}

export type FoundTool = RunTool | TaskTool

/** The answer as data and, for models that read text only, as its JSON. */
export function answered(answer: object): CallToolResult {
  const written = writeJson(answer)
  const content =
    typeof written === 'string'
      ? { type: 'text' as const, text: written }
      : withText({ type: 'text' as const }, written)
  return { content: [content], structuredContent: { ...answer } }
}

/** Models can act on an error only if it is a result of the tool, with the hint in it. */
export function refused(fault: Fault, requestId?: string): CallToolResult {
  return { ...answered(errorBody(fault, requestId)), isError: true }
}

/** The same as the body of an error in REST. */
export function errorBody(fault: Fault, requestId?: string): object {
  const { required_role, your_role } = fault.details
  return {
    ...fault.toJSON(),
    ...(required_role !== undefined && { required_role, your_role }),
    ...(requestId !== undefined && { request_id: requestId }),
  }
}

/** Anything that is not a Fault is a bug: the caller hears of it, but not what it says. */
export function asFault(error: unknown, onError: (error: unknown) => void): Fault {
  if (error instanceof Fault) return error
  onError(error)
  return new Fault('INTERNAL_ERROR')
}

/** Our own keys of `_meta` begin with it. */
export const META_PREFIX = 'io.asyncgate/'

/** A list whose changes clients hear of. */
export type ListKind = 'tools' | 'prompts' | 'resources'

/** Where prompts and resources come from. */
export interface ReadSource {
  /** What there is at present. */
  capabilities(): ServerCapabilities
  /** Serves what the capabilities of the server announce. */
  serve(server: Server, callOf: CallOf): void
  /** Calls back when a list is another one. Returns the way to stop listening. */
  onChange(listener: (kind: ListKind) => void): () => void
}

/** A tool whose call is a task. How a call is answered, now or with a handle, is not its business. */
export interface TaskTool {
  readonly definition: Tool
  /** How long a client that knows no tasks waits for the result. */
  readonly waitSeconds: number
  /** How long one that does waits before it gets the handle; 0, at once, unless said otherwise. */
  readonly quickSeconds?: number
  /** Whether the task is canceled when such a client has waited in vain; else it goes on. */
  readonly cancelsAtTimeout?: boolean
  /** Whether a client that cancels its call, or closes it, cancels the task too; else the task goes on. */
  readonly endsWithCall?: boolean
  /** What is done instead, unless the call asks for a task. */
  readonly plain?: RunTool
  /** Resolves when the task is durable; rejects with a Fault if there is none. */
  create(args: Fields, call: Call): Promise<CreatedTask>
}

export interface CreatedTask {
  /** Whose task it is. */
  readonly caller: Caller
  readonly created: CreateAnswer
}

/** Where tools that are tasks come from. */
export interface TaskToolSource {
  /** Those of a tenant by name. The same map as long as they are the same. */
  tools(tenant: string): Promise<ReadonlyMap<string, TaskTool>>
  /** Names of tools that are not listed for a caller, though they can be called. The same set as long as they are the same. */
  hidden?(tenant: string, principal: PrincipalKey | undefined): Promise<ReadonlySet<string>>
  /** Prompts and resources that come from the same place. */
  readonly reads?: ReadSource
  /** Why a tool of this name is not among them, if it is known to be one of theirs. */
  absence?(name: string, tenant: string): Promise<Fault | undefined>
  /** Calls back when some tenant's tools are others. Returns the way to stop listening. */
  onChange(listener: () => void): () => void
}

export function isTaskTool(found: RunTool | TaskTool): found is TaskTool {
  return typeof found !== 'function'
}

/** To whom a task is not shown it does not exist. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['TASK_NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR'])

export function unknownTask(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'Unknown task: there is none with this taskId, or it is not yours.',
  )
}

/** Why a task cannot be looked at. */
export function lookError(error: unknown, call: Call, onError: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error
  const fault = asFault(error, onError)
  return UNKNOWN.has(fault.code) ? unknownTask() : asProtocolError(fault, call)
}

/** The contract's error as one of JSON-RPC: the fault of the params, or ours. */
export function asProtocolError(fault: Fault, { requestId }: Call): ProtocolError {
  const code =
    ERRORS[fault.code].http < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, fault.message, errorBody(fault, requestId))
}
