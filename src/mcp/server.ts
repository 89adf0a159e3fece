import {
  type CacheHint,
  type Implementation,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { VERSION } from '../core/version.ts'
import { INSTRUCTIONS } from './instructions.ts'
import type { Call, ToolTable } from './tool.ts'

/** What a server shows of itself, whichever way it is reached. */
export interface Face {
  readonly info: Implementation
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly tools: ToolTable
  /** More than tools, if there is. */
  extend?(server: Server, callOf: (context: ServerContext) => Call): void
}

/** Types of tasks come and go: who does not listen for changes learns of them within a minute. */
export const LIST_HINT: Required<CacheHint> = { ttlMs: 60_000, cacheScope: 'private' }

/** What a server is changes only with its version. */
const DISCOVER_HINT: Required<CacheHint> = { ttlMs: 300_000, cacheScope: 'private' }

export function gateFace(tools: ToolTable): Face {
  return {
    info: { name: 'asyncgate', title: 'AsyncGate', version: VERSION },
    capabilities: { tools: { listChanged: true } },
    instructions: INSTRUCTIONS,
    tools,
  }
}

/** A server of the SDK. One serves one HTTP request or one stdio connection, and is never shared. */
export function createServer(face: Face, callOf: (context: ServerContext) => Call): Server {
  const { info, capabilities, instructions, tools } = face
  const server = new Server(info, {
    capabilities,
    ...(instructions !== undefined && { instructions }),
    cacheHints: { 'tools/list': LIST_HINT, 'server/discover': DISCOVER_HINT },
  })
  server.setRequestHandler('tools/list', async (_, context) => ({
    tools: [...(await tools.list(callOf(context).credential))],
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const call = callOf(context)
    const run = await tools.find(params.name, call.credential)
    if (run === undefined) throw unknownTool(params.name)
    return run(params.arguments ?? {}, call)
  })
  face.extend?.(server, callOf)
  return server
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
}
