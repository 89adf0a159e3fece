import {
  type ServeStdioOptions,
  type StdioServerHandle,
  serveStdio,
} from '@modelcontextprotocol/server/stdio'
import type { Fields } from '../auth/caller.ts'
import type { Credential } from '../auth/credential.ts'
import { Fault, invalid } from '../core/errors.ts'
import { MAX_DEPTH } from '../core/json.ts'
import { parseJson } from '../core/json-text.ts'
import type { Gate } from '../gate/gate.ts'
import { createServer, gateFace } from './server.ts'
import type { ToolTable } from './tool.ts'
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
  const face = gateFace(checked(gateTools({ gate, toolNames, onError })))
  return serveStdio(() => createServer(face, ({ mcpReq }) => ({ credential, signal: mcpReq.signal })), {
    onerror: onError,
    ...(transport && { transport }),
  })
}

/**
 * The tools, under the rules for JSON that hold over HTTP. The SDK has parsed the message before we see it, so a key
 * that appeared twice cannot be told any more.
 */
function checked({ definitions, find }: ToolTable): ToolTable {
  return {
    definitions,
    find(name) {
      const run = find(name)
      return run && ((args, call) => run(args, { ...call, flaw: flawOf(args) }))
    },
  }
}

function flawOf(args: Fields): Fault | undefined {
  try {
    parseJson(JSON.stringify(args))
    return undefined
  } catch (flaw) {
    if (flaw instanceof Fault) return flaw
    // So deep that even writing it fails.
    if (flaw instanceof RangeError) return invalid('', `is nested deeper than ${MAX_DEPTH}`)
    throw flaw
  }
}
