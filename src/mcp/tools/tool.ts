import type { CallToolResult, Progress, Tool } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Credential } from '../../auth/credential.ts'
import { Fault } from '../../core/errors.ts'
import { withText, writeJson } from '../../engine/stored-json.ts'
import type { Client } from '../../features/sessions/sessions.ts'
import type { TaskTool } from '../tasks/task-tool.ts'

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
