import type { Tool } from '@modelcontextprotocol/server'
import type { Fields } from '../../auth/caller.ts'
import type { Fault } from '../../core/errors.ts'
import type { Caller, PrincipalKey } from '../../core/principal.ts'
import type { CreateAnswer } from '../../features/tasks/create.ts'
import type { ReadSource } from '../tools/read-source.ts'
import type { Call, RunTool } from '../tools/tool.ts'

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
