import {
  type CacheHint,
  type CallToolResult,
  type Implementation,
  mergeCapabilities,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Fields } from '../auth/caller.ts'
import type { Gate } from '../features/gate.ts'
import { VERSION } from '../util/version.ts'
import { OwnReads } from './reads/own-reads.ts'
import { serveReads } from './reads/serve-reads.ts'
import { serveTasks, type TaskHandlers, taskHandlers } from './tasks/task-handlers.ts'
import { gateTools, type ToolNames, waitToolName } from './tools/operation-tools.ts'
import { typeTools } from './tools/task-tools.ts'
import {
  type Call,
  type CallOf,
  type Era,
  type FoundTool,
  isTaskTool,
  type ListKind,
  type TaskToolSource,
  type ToolTable,
  wantsProgress,
} from './tools/tool.ts'
import { TASKS_EXTENSION } from './transport/capabilities.ts'

/** An MCP server, independent of the transport. */
export interface ServerDefinition {
  readonly info: Implementation
  /** They change with the upstreams. */
  capabilities(era: Era): ServerCapabilities
  readonly instructions?: string
  readonly tools: ToolTable
  readonly tasks: TaskHandlers
  /** Registers further request handlers. */
  extend?(server: Server, callOf: CallOf): void
}

/** Task types and upstreams can change: clients that do not subscribe to changes notice them within a minute. */
export const LIST_HINT: Required<CacheHint> = { ttlMs: 60_000, cacheScope: 'private' }

/** How each revision announces tasks. */
const TASK_CAPABILITIES: Readonly<Record<Era, ServerCapabilities>> = {
  modern: { extensions: { [TASKS_EXTENSION]: {} } },
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
}

/** A server of the SDK for one HTTP request or one stdio connection. */
export function createServer(definition: ServerDefinition, era: Era, callOf: CallOf): Server {
  const { info, instructions, tools, tasks } = definition
  const server = new Server(info, {
    capabilities: { ...definition.capabilities(era), ...TASK_CAPABILITIES[era] },
    ...(instructions !== undefined && { instructions }),
    cacheHints: {
      'tools/list': LIST_HINT,
      'prompts/list': LIST_HINT,
      'resources/list': LIST_HINT,
      'resources/templates/list': LIST_HINT,
      'server/discover': LIST_HINT,
    },
  })
  server.setRequestHandler('tools/list', async (_, context) => ({
    tools: [...(await tools.list(callOf(context).credential, era))],
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const call = callOf(context, params.task)
    const found = await tools.find(params.name, call.credential)
    if (found === undefined) throw unknownTool(params.name)
    return callTool(definition, found, params.arguments ?? {}, tellingProgress(call, context))
  })
  serveTasks(server, tasks, era, callOf)
  definition.extend?.(server, callOf)
  return server
}

/** Adds progress notifications if the client asked for them. */
function tellingProgress(call: Call, { mcpReq }: ServerContext): Call {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined || !wantsProgress(call)) return call
  const progress = (report: Progress) => {
    const params = { progressToken, ...report }
    // The client may have disconnected.
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
  return isTaskTool(found) ? tasks.calls.call(found, args, call) : found(args, call)
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
}

/** The options of every transport. */
export interface ServerOptions {
  readonly toolNames?: ToolNames | undefined
  readonly legacyTools?: boolean | undefined
  /** Further task tools, besides the task types that are tools. */
  readonly sources?: readonly TaskToolSource[] | undefined
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The MCP server of a gate. */
export function defineServer(
  gate: Gate,
  { toolNames, legacyTools, sources = [], onError = () => {} }: ServerOptions,
): {
  readonly definition: ServerDefinition
  /** The listener is called when a list may have changed for some caller. Returns an unsubscribe function. */
  onLists(listener: (kind: ListKind) => void): () => void
} {
  const waitTool = waitToolName(toolNames)
  const all = [typeTools(gate, waitTool), ...sources]
  // The URIs of the gate begin with its own scheme, which no upstream can serve.
  const reads = [new OwnReads(gate), ...all.flatMap((source) => source.reads ?? [])]
  return {
    definition: {
      info: { name: 'asyncgate', title: 'AsyncGate', version: VERSION },
      capabilities: (era) =>
        reads.reduce<ServerCapabilities>(
          (others, source) => mergeCapabilities(others, source.capabilities(era)),
          { tools: { listChanged: true } },
        ),
      instructions: INSTRUCTIONS,
      tools: gateTools({ gate, toolNames, legacyTools, sources: all, onError }),
      tasks: taskHandlers({ gate, waitTool, onError }),
      extend: (server, callOf) => serveReads(reads, server, callOf, onError),
    },
    onLists(listener) {
      const stops = [
        ...all.map((source) => source.onChange(() => listener('tools'))),
        ...reads.map((source) => source.onChange(listener)),
      ]
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

/** Shown to models when they connect. */
export const INSTRUCTIONS = `AsyncGate keeps work that takes longer than one call. What you hand over survives restarts, of yours and of the server.

To have work done: create_task (with an idempotency_key, so that a repeated call does not do it twice), then wait_for_task until done is true. If it is not done yet, do something else and come back; get_task always shows the latest. cancel_task stops it.

A tool whose name does not begin with asyncgate is a kind of work: it hands over the task and waits a while for the result. If it answers with a task_id instead, go on with wait_for_task. A task may wait for a person: if it needs input that you have, give it with answer_question; if it needs approval, tell the person you work for.

When a session starts: list_inbox shows what has come in for you, and list_open_obligations what is still under way. Read results with get_task, and ack_receipt what you have dealt with.

To do work as a worker: lease_next (wait_seconds waits for work), then do it. renew_lease well before expires_at, report_progress on the way, and end with complete, fail or release_lease. Once a call answers LEASE_INVALID_OR_EXPIRED the task is no longer yours: stop.

Under a shared key say who you are in each call: agent_id, or worker_id for workers. An error has a hint that says what to do next; if retryable is true, send the same call again after a pause.`
