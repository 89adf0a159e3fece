import { mergeCapabilities, type ServerCapabilities } from '@modelcontextprotocol/server'
import type { Gate } from '../features/gate.ts'
import { VERSION } from '../util/version.ts'
import { INSTRUCTIONS } from './instructions.ts'
import type { Face } from './server.ts'
import { taskFace } from './tasks/task-face.ts'
import type { TaskToolSource } from './tasks/task-tool.ts'
import { gateTools, type ToolNames, waitToolName } from './tools/operation-tools.ts'
import type { ListKind } from './tools/read-source.ts'
import { typeTools } from './tools/type-tools.ts'

export interface GateFaceOptions {
  readonly gate: Gate
  readonly toolNames?: ToolNames | undefined
  readonly oldNames?: boolean | undefined
  /** Tools that are tasks, besides the types of tasks that are tools of their own. */
  readonly sources?: readonly TaskToolSource[] | undefined
  /** Hears of errors that callers are not told. */
  readonly onError: (error: unknown) => void
}

export interface GateFace {
  readonly face: Face
  /** Calls back when a list is another for somebody. Returns the way to stop listening. */
  onLists(listener: (kind: ListKind) => void): () => void
}

/** A gate as MCP shows it. */
export function gateFace({ gate, toolNames, oldNames, sources = [], onError }: GateFaceOptions): GateFace {
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
      tools: gateTools({ gate, toolNames, oldNames, sources: all, onError }),
      tasks: taskFace({ gate, waitTool, onError }),
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
