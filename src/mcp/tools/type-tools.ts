import type { Tool } from '@modelcontextprotocol/server'
import { callerOf, type Fields } from '../../auth/caller.ts'
import type { Gate } from '../../features/gate.ts'
import { DEFAULT_TOOL_WAIT_SECONDS, type TaskTypeView, toolName } from '../../features/task-types/shape.ts'
import { createInput } from '../../features/tasks/task-input.ts'
import type { TaskTool, TaskToolSource } from '../tasks/task-tool.ts'
import { withIdentity } from './identity.ts'
import type { Call } from './tool.ts'
import { type ToolArguments, toolArguments } from './tool-arguments.ts'

/** Calls of these tools are made by whoever could create the task. */
const CREATE = { actor: 'agent', input: createInput } as const

/** Types of tasks as tools: a call creates the task. `waitTool` is how a model goes on if the result takes longer. */
export function typeTools(gate: Gate, waitTool: string): TaskToolSource {
  const known = new WeakMap<readonly TaskTypeView[], ReadonlyMap<string, TaskTool>>()
  return {
    async tools(tenant) {
      const types = await gate.toolTypes(tenant)
      const before = known.get(types)
      if (before !== undefined) return before
      const tools = new Map(types.map((type) => [toolName(type), typeTool(gate, type, waitTool)]))
      known.set(types, tools)
      return tools
    },
    onChange: (listener) => gate.onToolTypes(listener),
  }
}

function typeTool(gate: Gate, type: TaskTypeView, waitTool: string): TaskTool {
  const args = toolArguments(type.payload_schema ?? {})
  return {
    definition: definition(type, args, waitTool),
    waitSeconds: waitOf(type),
    async create(given: Fields, call: Call) {
      const { identity, rest } = args.split(given)
      const { caller } = callerOf(call.credential, CREATE, withIdentity(identity, call))
      return { caller, created: await gate.createTask(caller, { type: type.type, payload: rest }) }
    },
  }
}

function waitOf({ tool }: TaskTypeView): number {
  return tool?.wait_seconds ?? DEFAULT_TOOL_WAIT_SECONDS
}

function definition(type: TaskTypeView, { schema }: ToolArguments, waitTool: string): Tool {
  const { tool } = type
  const what = tool?.description ?? type.description ?? `Has a worker do a task of type ${type.type}.`
  const later = `If the result is not there within ${waitOf(type)} s, it answers with a task_id for ${waitTool}.`
  return {
    name: toolName(type),
    ...(tool?.title !== undefined && { title: tool.title }),
    description: `${what} ${later}`,
    inputSchema: { ...schema },
  }
}
