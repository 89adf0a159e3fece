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

/** The list changes only with the version of the server, but who may see it is decided per request. */
export const LIST_HINT: Required<CacheHint> = { ttlMs: 300_000, cacheScope: 'private' }

export function gateFace(tools: ToolTable): Face {
  return {
    info: { name: 'asyncgate', title: 'AsyncGate', version: VERSION },
    capabilities: { tools: {} },
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
    cacheHints: { 'tools/list': LIST_HINT, 'server/discover': LIST_HINT },
  })
  server.setRequestHandler('tools/list', () => ({ tools: [...tools.definitions] }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const run = tools.find(params.name)
    if (run === undefined) throw unknownTool(params.name)
    return run(params.arguments ?? {}, callOf(context))
  })
  face.extend?.(server, callOf)
  return server
}

export function unknownTool(name: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 128)}`)
}
