import {
  type ServeStdioOptions,
  type StdioServerHandle,
  serveStdio,
} from '@modelcontextprotocol/server/stdio'
import type { Credential } from '../auth/credential.ts'
import type { Gate } from '../gate/gate.ts'
import { createServer, gateFace } from './server.ts'
import { gateTools, type ToolNames } from './tools.ts'

export interface StdioOptions {
  /** Who the client at the other end is. Whoever starts the process also holds the database. */
  readonly credential?: Credential
  readonly toolNames?: ToolNames
  /** Hears of errors that the client is not told. It must not write to stdout, which carries the protocol. */
  readonly onError?: (error: unknown) => void
  /** Instead of stdin and stdout. */
  readonly transport?: ServeStdioOptions['transport']
}

const LOCAL: Credential = { kind: 'shared', tenant: 'default' }

/** Serves MCP on stdin and stdout, every revision, until the client closes its end. */
export function serveStdioMcp(gate: Gate, options: StdioOptions = {}): StdioServerHandle {
  const { credential = LOCAL, toolNames, onError = () => {}, transport } = options
  const face = gateFace(gateTools({ gate, toolNames, onError }))
  return serveStdio(() => createServer(face, ({ mcpReq }) => ({ credential, signal: mcpReq.signal })), {
    onerror: onError,
    ...(transport && { transport }),
  })
}
