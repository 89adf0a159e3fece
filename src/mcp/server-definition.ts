import { mergeCapabilities, type ServerCapabilities } from '@modelcontextprotocol/server'
import type { Gate } from '../features/gate.ts'
import { VERSION } from '../util/version.ts'
import { INSTRUCTIONS } from './instructions.ts'
import type { ServerDefinition } from './server.ts'
import { taskHandlers } from './tasks/task-handlers.ts'
import type { TaskToolSource } from './tasks/task-tool.ts'
import { gateTools, type ToolNames, waitToolName } from './tools/operation-tools.ts'
import type { ListKind } from './tools/read-source.ts'
import { typeTools } from './tools/type-tools.ts'

export interface DefineServerOptions {
  readonly gate: Gate
  readonly toolNames?: ToolNames | undefined
  readonly legacyTools?: boolean | undefined
  /** Tools that are tasks, besides the types of tasks that are tools of their own. */
  readonly sources?: readonly TaskToolSource[] | undefined
  /** Hears of errors that callers are not told. */
  readonly onError: (error: unknown) => void
}

export interface DefinedServer {
  readonly face: ServerDefinition
  /** Calls back when a list is another for somebody. Returns the way to stop listening. */
  onLists(listener: (kind: ListKind) => void): () => void
}

/** A gate as MCP shows it. */
export function defineServer({
  gate,
  toolNames,
  legacyTools,
  sources = [],
  onError,
}: DefineServerOptions): DefinedServer {
  const waitTool = waitToolName(toolNames)
  const all = [typeTools(gate, waitTool), ...sources]
  const reads = all.flatMap((source) => source.reads ?? [])
  return {
    face: {
      info: { name: 'asyncgate', title: 'AsyncGate', version: VERSION },
      capabilities: () =>
        reads.reduce<ServerCapabilities>(
          (others, source) => mergeCapabilities(others, source.capabilities()),
          { tools: { listChanged: true } },
        ),
      instructions: INSTRUCTIONS,
      tools: gateTools({ gate, toolNames, legacyTools, sources: all, onError }),
      tasks: taskHandlers({ gate, waitTool, onError }),
      extend(server, callOf) {
        for (const source of reads) source.serve(server, callOf)
      },
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
