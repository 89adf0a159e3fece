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
  readonly oldNames?: boolean
  /** Hears of errors that the client is not told. It must not write to stdout, which carries the protocol. */
  readonly onError?: (error: unknown) => void
  /** Instead of stdin and stdout. */
  readonly transport?: ServeStdioOptions['transport']
}

const LOCAL: Credential = { kind: 'shared', tenant: 'default' }

/** Serves MCP on stdin and stdout, every revision, until the client closes its end. */
export function serveStdioMcp(gate: Gate, options: StdioOptions = {}): StdioServerHandle {
  const { credential = LOCAL, toolNames, oldNames, onError = () => {}, transport } = options
  const face = gateFace(checked(gateTools({ gate, toolNames, oldNames, onError })))
  let stopListening = () => {}
  const connect = () => {
    const server = createServer(face, ({ mcpReq }) => ({ credential, signal: mcpReq.signal }))
    stopListening()
    // A client that has gone need not know.
    stopListening = gate.onToolTypes(() => void server.sendToolListChanged().catch(() => {}))
    return server
  }
  const served = serveStdio(connect, { onerror: onError, ...(transport && { transport }) })
  return {
    close() {
      stopListening()
      return served.close()
    },
  }
}

/**
 * The tools, under the rules for JSON that hold over HTTP. The SDK has parsed the message before we see it, so a key
 * that appeared twice cannot be told any more.
 */
function checked({ list, find }: ToolTable): ToolTable {
  return {
    list,
    async find(name, credential) {
      const run = await find(name, credential)
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
