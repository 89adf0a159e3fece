import {
  type CacheHint,
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
import { directCall } from './tools/discover.ts'
import { type Listing, type ToolNames, toolName } from './tools/listing.ts'
import { gateTools } from './tools/operation-tools.ts'
import { typeTools } from './tools/task-tools.ts'
import {
  type Call,
  type CallOf,
  type Era,
  type FoundTool,
  isTaskTool,
  type ListKind,
  type ReadSource,
  type TaskToolSource,
  type ToolReply,
  type ToolTable,
  wantsProgress,
} from './tools/tool.ts'
import { type ListWatch, WatchedLists } from './tools/watched-lists.ts'
import { TASKS_EXTENSION } from './transport/capabilities.ts'
import type { PeerResponse } from './transport/peer.ts'

/** An MCP server, independent of the transport. */
export interface ServerDefinition {
  readonly info: Implementation
  /** They change with the upstreams of the tenant. */
  capabilities(era: Era, tenant: string): ServerCapabilities
  readonly instructions?: string
  readonly tools: ToolTable
  readonly tasks: TaskHandlers
  /** Watches a resource that the caller may read, and publishes its changes. Resolves with an unsubscribe function. */
  readonly watchResource?: (uri: string, call: Call) => Promise<() => void>
  /** Has every change of the tools of a tenant noticed, also by other servers, until it is stopped. */
  readonly watchLists?: (tenant: string) => ListWatch
  /** Registers further request handlers. */
  extend?(server: Server, callOf: CallOf): void
  /**
   * Receives a client's response to a request for which nothing waits in this process: it was sent by another server,
   * or before a restart, or never. The call has the credential of the response; `id` is chosen by the client.
   */
  onUnmatchedResponse?(response: PeerResponse, call: Call): Promise<void>
}

/** Task types and upstreams can change: clients that do not subscribe to changes notice them within a minute. */
export const LIST_HINT: Required<CacheHint> = { ttlMs: 60_000, cacheScope: 'private' }

/** What each revision adds: tasks are announced differently, and legacy clients set a log level and then get the log lines of workers. */
const ERA_CAPABILITIES: Readonly<Record<Era, ServerCapabilities>> = {
  modern: { extensions: { [TASKS_EXTENSION]: {} } },
  legacy: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } }, logging: {} },
}

/** A server of the SDK for one HTTP request or one stdio connection of a tenant. */
export function createServer(definition: ServerDefinition, era: Era, tenant: string, callOf: CallOf): Server {
  const { info, instructions, tools, tasks } = definition
  const server = new Server(info, {
    capabilities: { ...definition.capabilities(era, tenant), ...ERA_CAPABILITIES[era] },
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
    tools: [...(await tools.list(callOf(context), era))],
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const call = callOf(context, params.task)
    const { name, args } = directCall(params.name, params.arguments ?? {})
    const found = await tools.find(name, call.credential)
    if (found === undefined) throw unknownTool(name)
    return callTool(definition, found, args, tellingProgress(call, context))
  })
  serveTasks(server, tasks, era, callOf)
  if (era === 'legacy') serveConnection(server, callOf, definition.watchResource)
  definition.extend?.(server, callOf)
  return server
}

/** Registers the methods of 2025-11-25 that change the state of a connection or session. */
function serveConnection(server: Server, callOf: CallOf, watch: ServerDefinition['watchResource']): void {
  const { logging, resources } = server.getCapabilities()
  const peerOf = (context: ServerContext) => {
    const { peer } = callOf(context)
    if (peer !== undefined) return peer
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, NEEDS_SESSION)
  }
  if (logging !== undefined) {
    server.setRequestHandler('logging/setLevel', ({ params }, context) => {
      peerOf(context).setLogLevel(params.level)
      return {}
    })
  }
  if (resources?.subscribe !== true) return
  server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, context) => {
    const peer = peerOf(context)
    const stop = (await watch?.(uri, callOf(context))) ?? (() => {})
    if (peer.subscribe(uri, stop)) return {}
    stop()
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Subscription limit reached')
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }, context) => {
    peerOf(context).unsubscribe(params.uri)
    return {}
  })
}

const NEEDS_SESSION =
  'This method needs a session: send the Mcp-Session-Id of the response to initialize, and accept text/event-stream.'

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
): Promise<ToolReply> {
  if (isTaskTool(found)) return tasks.calls.call(found, args, call)
  // No other tool requires input.
  if (call.repeat?.state !== undefined) return Promise.reject(unknownState())
  return found(args, call)
}

function unknownState(): ProtocolError {
  const message = 'This tool never requires input, so the requestState is not one of its own.'
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
}

/** The options of every transport. */
export interface ServerOptions {
  readonly toolNames?: ToolNames | undefined
  /** The tools that are listed for clients that do not choose; those of agents by default. */
  readonly listing?: Listing | undefined
  readonly legacyTools?: boolean | undefined
  /** Further task tools, besides the task types that are tools. */
  readonly sources?: readonly TaskToolSource[] | undefined
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The MCP server of a gate. */
export function defineServer(
  gate: Gate,
  { toolNames, listing, legacyTools, sources = [], onError = () => {} }: ServerOptions,
): {
  readonly definition: ServerDefinition
  /** The listener is called when a list may have changed for some caller. Returns an unsubscribe function. */
  onLists(listener: (kind: ListKind) => void): () => void
  /** The listener is called with the URI of a resource that has changed. Returns an unsubscribe function. */
  onResources(listener: (uri: string) => void): () => void
} {
  const waitTool = toolName('wait_for_task', toolNames)
  const all = [typeTools(gate, waitTool), ...sources]
  const tasks = taskHandlers({ gate, waitTool, onError })
  const own = new OwnReads(gate, tasks.watch)
  const watched = new WatchedLists(all, onError)
  // The URIs of the gate begin with its own scheme, which no upstream can serve.
  const reads: ReadSource[] = [own, ...all.flatMap((source) => source.reads ?? [])]
  return {
    definition: {
      info: { name: 'asyncgate', title: 'AsyncGate', version: VERSION },
      capabilities: (era, tenant) =>
        reads.reduce<ServerCapabilities>(
          (others, source) => mergeCapabilities(others, source.capabilities(era, tenant)),
          { tools: { listChanged: true } },
        ),
      instructions: instructions((name) => toolName(name, toolNames)),
      tools: gateTools({ gate, toolNames, listing, legacyTools, sources: all, onError }),
      tasks,
      onUnmatchedResponse: (response, call) => tasks.questions.late(response, call),
      watchResource: (uri, call) => own.watch(uri, call),
      watchLists: (tenant) => watched.watch(tenant),
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
    onResources(listener) {
      const stops = reads.flatMap((source) => source.onUpdate?.(listener) ?? [])
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

/** Shown to models when they connect. */
export function instructions(tool: (operation: string) => string): string {
  return `AsyncGate does work that outlasts a call. Tasks survive restarts of your program and of the server.

To delegate work: ${tool('list_task_types')} shows what workers can do. ${tool('create_task')} returns a task_id immediately; send an idempotency_key so that a repeated call does not do the work twice. Go on with other work. Then call ${tool('wait_for_task')} until done is true, or come back later with ${tool('get_task')}. ${tool('cancel_task')} stops a task, ${tool('retry_task')} repeats a failed one.

Tools whose names do not begin with asyncgate are tasks too: they wait a while for the result. If one returns a task_id instead, continue with ${tool('wait_for_task')} and do not call it again.

A task may wait for a person. input_required: send the input with ${tool('answer_question')}. pending_approval: give the link in the reply to the person you work for, and go on.

When you start: ${tool('list_inbox')} shows the results and questions that came in while you were away. Read a result with ${tool('get_task')} or, if it is long, page by page with ${tool('fetch_task_result')}; then ${tool('ack_receipt')} what you have dealt with.

An error starts with its code and says what to do next.`
}
