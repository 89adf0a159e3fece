import {
  type CallToolResult,
  type CompleteResult,
  type GetPromptResult,
  type InputRequiredResult,
  type Progress,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
  type ServerCapabilities,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Credential } from '../../auth/credential.ts'
import type { Permission } from '../../core/authorization.ts'
import { ERRORS, type ErrorCode, Fault, liftedDetails } from '../../core/errors.ts'
import type { Caller, PrincipalKey, RequestOrigin } from '../../core/principal.ts'
import { withText, writeJson } from '../../engine/stored-json.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import type { CreateAnswer } from '../../features/tasks/create.ts'
import type { Completing } from '../../features/upstreams/upstreams.ts'
import type { ClientPeer } from '../transport/peer.ts'
import type { Listing } from './listing.ts'

/** The context of a tool call. */
export interface Call {
  readonly credential: Credential
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal
  readonly requestId?: string | undefined
  /** A violation of the rules for JSON, for example a duplicate key. */
  readonly flaw?: Fault | undefined
  /** The `_meta` of the request. */
  readonly meta?: Fields | undefined
  /** Calls with the same key are one call. */
  readonly key?: string | undefined
  /** Absent for a client on stdin. */
  readonly origin?: RequestOrigin | undefined
  /** Is told of every refusal, for the audit log. */
  readonly onRefused?: ((fault: Fault) => void) | undefined
  /** The calling program, if the connection identifies it. */
  readonly client?: Client | undefined
  /** The input that an earlier call required, if this call repeats it. */
  readonly repeat?: Repeat | undefined
  /** Undefined if the client does not support tasks. */
  readonly tasks?: TaskMode | undefined
  /** The tools that the client is shown, and the form of its results. Absent: the defaults of the server. */
  readonly listing?: Listing | undefined
  /** Whether messages can be sent before the result. */
  readonly streams?: boolean | undefined
  /** Reports progress, if the client asked for it. */
  readonly progress?: ((progress: Progress) => void) | undefined
  /** The client, if the server can send it requests and notifications during the call. Legacy revisions only. */
  readonly peer?: ClientPeer | undefined
}

/** What a client sends with a call that it repeats after the call has required input. */
export interface Repeat {
  /** The requestState of the result; undefined if it is missing. */
  readonly state: string | undefined
  /** The responses of the user, by key. */
  readonly responses: Fields
}

/** The call of a request of the SDK. `task` is the task parameter of legacy requests. */
export type CallOf = (context: ServerContext, task?: unknown) => Call

/** Whether a held call reports progress. A client that gets a task polls it instead. */
export function wantsProgress({ streams, tasks, meta }: Pick<Call, 'streams' | 'tasks' | 'meta'>): boolean {
  return streams === true && tasks === undefined && meta?.progressToken !== undefined
}

/**
 * `handle`: the client supports the Tasks extension of 2026-07-28, so a call may become a task. `task`: a request of
 * 2025-11-25 asks for a task.
 */
export type TaskMode = 'handle' | 'task'

export type RunTool = (args: Fields, call: Call) => Promise<CallToolResult>

/** The result of a tool, or what its call requires first. */
export type ToolReply = CallToolResult | InputRequiredResult

/** `modern` is 2026-07-28, `legacy` any earlier revision. */
export type Era = 'modern' | 'legacy'

export interface ToolTable {
  /** The tools that a caller is shown. The same list object until it changes. */
  list(call: ListCall, era: Era): Promise<readonly Tool[]>
  find(name: string, credential: Credential): FoundTool | undefined | Promise<FoundTool | undefined>
  /** Whether a call may wait; task tools wait for the end of the task. */
  mayWait(name: string, args: Fields): boolean
  /** The permission that a call needs; undefined if the tool itself decides. */
  permissionOf(name: string, args: Fields): Permission | undefined
}

/** The part of a call that decides which tools are listed. */
export type ListCall = Pick<Call, 'credential' | 'client' | 'meta' | 'listing'>

export type FoundTool = RunTool | TaskTool

/** The result as JSON text, and as data too if the client is a program that was shown its schema. */
export function answered(answer: object, { listing }: Pick<Call, 'listing'>): CallToolResult {
  const written = writeJson(answer)
  const content =
    typeof written === 'string'
      ? { type: 'text' as const, text: written }
      : withText({ type: 'text' as const }, written)
  return { content: [content], ...(listing?.isComplete && { structuredContent: { ...answer } }) }
}

/** An error as a tool result: one line that a model can act on, or the complete error for programs. */
export function refused(
  fault: Fault,
  call: Pick<Call, 'listing' | 'requestId' | 'onRefused'>,
): CallToolResult {
  call.onRefused?.(fault)
  if (call.listing?.isComplete) return { ...answered(errorBody(fault, call.requestId), call), isError: true }
  return { content: [{ type: 'text', text: errorLine(fault) }], isError: true }
}

function errorLine({ code, message, details }: Fault): string {
  // The message of a validation error contains its details.
  const shown = code === 'VALIDATION_ERROR' ? [] : Object.entries(details)
  const listed = shown.map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const said = listed.length === 0 ? '' : ` (${listed.join(', ')})`
  return `${code}: ${message}${said} ${ERRORS[code].hint}`.replace(/\s+/g, ' ')
}

/** The same as the body of an error in REST. */
export function errorBody(fault: Fault, requestId?: string): object {
  return {
    ...fault.toJSON(),
    ...liftedDetails(fault),
    ...(requestId !== undefined && { request_id: requestId }),
  }
}

/** Any other error is a bug: it is reported, and the caller gets INTERNAL_ERROR. */
export function asFault(error: unknown, onError: (error: unknown) => void): Fault {
  if (error instanceof Fault) return error
  onError(error)
  return new Fault('INTERNAL_ERROR')
}

/** The prefix of our keys in `_meta`. */
export const META_PREFIX = 'io.asyncgate/'

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const
export type ListKind = (typeof LIST_KINDS)[number]

/** A source of prompts and resources. */
export interface ReadSource {
  capabilities(era: Era, tenant: string): ServerCapabilities
  prompts(call: Call): Promise<Prompt[]>
  resources(call: Call): Promise<Resource[]>
  templates(call: Call): Promise<ResourceTemplateType[]>
  /** Undefined if the prompt does not belong to this source, as for the methods below. Rejects with a Fault. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    call: Call,
  ): Promise<GetPromptResult | undefined>
  readResource(uri: string, call: Call): Promise<ReadResourceResult | undefined>
  complete(asked: Completing, call: Call): Promise<CompleteResult | undefined>
  /** Returns an unsubscribe function. */
  onChange(listener: (kind: ListKind) => void): () => void
  /** Calls back when a resource has changed that clients can subscribe to. Returns an unsubscribe function. */
  onUpdate?(listener: (uri: string) => void): () => void
}

/** A tool whose call creates a task. */
export interface TaskTool {
  readonly definition: Tool
  /** How long a client without support for tasks waits for the result. */
  readonly waitSeconds: number
  /** How long a client with support for tasks waits before it gets the handle; 0 by default. */
  readonly quickSeconds?: number
  /** Whether the task is canceled when such a wait times out. */
  readonly cancelsAtTimeout?: boolean
  /** Whether the task is canceled when the client cancels or closes its call. */
  readonly endsWithCall?: boolean
  /** Runs instead, unless the call asks for a task. */
  readonly plain?: RunTool
  /** The owner of a task that this call creates. */
  callerOf(args: Fields, call: Call): Caller
  /** Resolves when the task is durable. Rejects with a Fault. */
  create(args: Fields, call: Call): Promise<CreatedTask>
}

export interface CreatedTask {
  /** The owner of the task. */
  readonly caller: Caller
  readonly created: CreatedFacts
}

/** What is known of a task. A repeated call knows less than the call that created the task. */
export type CreatedFacts = Pick<CreateAnswer, 'task_id' | 'status' | 'is_duplicate'> & Partial<CreateAnswer>

/** A source of task tools. */
export interface TaskToolSource {
  /** The tools of a tenant by name. The same map object until they change. */
  tools(tenant: string): Promise<ReadonlyMap<string, TaskTool>>
  /** Names of tools that are not listed for a caller. The same set object until they change. */
  hidden?(tenant: string, principal: PrincipalKey | undefined): Promise<ReadonlySet<string>>
  readonly reads?: ReadSource
  /** Why a known tool of this name is not available. */
  absence?(name: string, tenant: string): Promise<Fault | undefined>
  /** Calls back when the tools of some tenant have changed. Returns an unsubscribe function. */
  onChange(listener: () => void): () => void
}

export function isTaskTool(found: RunTool | TaskTool): found is TaskTool {
  return typeof found !== 'function'
}

/** A task that the caller may not see does not exist for them. */
const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['TASK_NOT_FOUND', 'FORBIDDEN', 'VALIDATION_ERROR'])

export function unknownTask(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    'Unknown task: there is none with this taskId, or it is not yours.',
  )
}

export function lookError(error: unknown, call: Call, onError: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error
  const fault = asFault(error, onError)
  return UNKNOWN.has(fault.code) ? unknownTask() : asProtocolError(fault, call)
}

/** Converts a fault to a JSON-RPC error: invalid params, or an internal error. */
export function asProtocolError(fault: Fault, { requestId, onRefused }: Call): ProtocolError {
  onRefused?.(fault)
  const code =
    ERRORS[fault.code].http < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, fault.message, errorBody(fault, requestId))
}
