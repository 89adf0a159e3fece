import {
  type CacheHint,
  type CallToolResult,
  type Implementation,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../auth/caller.ts'
import { serveTasks } from './tasks/handlers.ts'
import type { TaskHandlers } from './tasks/task-handlers.ts'
import { isTaskTool } from './tasks/task-tool.ts'
import { type Call, type Era, type FoundTool, type ToolTable, wantsProgress } from './tools/tool.ts'
import { TASKS_EXTENSION } from './transport/capabilities.ts'

/** What a server shows of itself, whichever way it is reached. */
export interface ServerDefinition {
  readonly info: Implementation
  /** What there is at present: upstreams come and go. */
  capabilities(): ServerCapabilities
  readonly instructions?: string
  readonly tools: ToolTable
  /** If some tools are tasks. */
  readonly tasks?: TaskHandlers
  /** More than tools, if there is. */
  extend?(server: Server, callOf: CallOf): void
}

/** The call that a request of the SDK is; `task` is what its params say about a task, in the older era. */
export type CallOf = (context: ServerContext, task?: unknown) => Call

/** Types of tasks come and go: who does not listen for changes learns of them within a minute. */
export const LIST_HINT: Required<CacheHint> = { ttlMs: 60_000, cacheScope: 'private' }

/** Whether there are prompts and resources changes with the upstreams, the rest of it with the version. */
const DISCOVER_HINT: Required<CacheHint> = { ttlMs: 60_000, cacheScope: 'private' }

/** Each era has its own way to say that there are tasks. */
const TASK_CAPABILITIES: Readonly<Record<Era, ServerCapabilities>> = {
  modern: { extensions: { [TASKS_EXTENSION]: {} } },
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
}

/** A server of the SDK. One serves one HTTP request or one stdio connection, and is never shared. */
export function createServer(face: ServerDefinition, era: Era, callOf: CallOf): Server {
  const { info, instructions, tools, tasks } = face
  const capabilities = face.capabilities()
  const server = new Server(info, {
    capabilities: tasks === undefined ? capabilities : { ...capabilities, ...TASK_CAPABILITIES[era] },
    ...(instructions !== undefined && { instructions }),
    cacheHints: {
      'tools/list': LIST_HINT,
      'prompts/list': LIST_HINT,
      'resources/list': LIST_HINT,
      'resources/templates/list': LIST_HINT,
      'server/discover': DISCOVER_HINT,
    },
  })
  server.setRequestHandler('tools/list', async (_, context) => ({
    tools: [...(await tools.list(callOf(context).credential, era))],
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const call = callOf(context, params.task)
    const found = await tools.find(params.name, call.credential)
    if (found === undefined) throw unknownTool(params.name)
    return callTool(face, found, params.arguments ?? {}, tellingProgress(call, context))
  })
  if (tasks !== undefined) serveTasks(server, tasks, era, callOf)
  face.extend?.(server, callOf)
  return server
}

/** The same call, which tells its client how far it is if the client asked for that. */
function tellingProgress(call: Call, { mcpReq }: ServerContext): Call {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined || !wantsProgress(call)) return call
  const progress = (report: Progress) => {
    const params = { progressToken, ...report }
    // A client that has gone need not know.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
  return { ...call, progress }
}

export function callTool(
  { tasks }: ServerDefinition,
  found: FoundTool,
  args: Fields,
  call: Call,
): Promise<CallToolResult> {
  if (!isTaskTool(found)) return found(args, call)
  if (tasks === undefined) throw new Error(`${found.definition.name} is a task, and nobody answers for tasks`)
  return tasks.calls.call(found, args, call)
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
}
