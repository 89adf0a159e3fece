import type { Tool } from '@modelcontextprotocol/server'
import { callerOf, type Fields } from '../../auth/caller.ts'
import type { Json, JsonObject } from '../../core/json/json.ts'
import type { Gate } from '../../features/gate.ts'
import { createInput } from '../../features/tasks/task-input.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'
import type { TaskTool, TaskToolSource } from '../tasks/task-tool.ts'
import { clientOf } from '../transport/client-instance.ts'
import { withIdentity } from './identity.ts'
import type { Call } from './tool.ts'
import { type ToolArguments, toolArguments } from './tool-arguments.ts'
import { UpstreamReads } from './upstream-reads.ts'

export interface UpstreamToolOptions {
  readonly gate: Gate
  /** How long a client that knows no tasks waits for the result. */
  readonly waitSeconds: number
  /** Whether a call is canceled when such a client has waited in vain. */
  readonly cancelsAtTimeout: boolean
  /** The tool with which a model goes on when the result does not come in time. */
  readonly waitTool: string
  /** Hears of errors that callers are not told. */
  readonly onError: (error: unknown) => void
}

/** Most calls are over by then, and need no task that somebody has to ask after. */
const QUICK_SECONDS = 0.25

/** Calls of these tools are made by whoever could create the task. */
const CREATE = { actor: 'agent', input: createInput } as const

/** The tools of upstreams: a call is a task of the session of its client. */
export function upstreamTools(options: UpstreamToolOptions): TaskToolSource {
  const { gate } = options
  const known = new WeakMap<readonly UpstreamTool[], ReadonlyMap<string, TaskTool>>()
  return {
    async tools(tenant) {
      const listed = await gate.upstreamTools(tenant)
      const before = known.get(listed)
      if (before !== undefined) return before
      const tools = new Map(listed.map((tool) => [tool.name, taskTool(options, tool)]))
      known.set(listed, tools)
      return tools
    },
    hidden: (tenant, principal) => gate.blockedTools(tenant, principal),
    reads: new UpstreamReads(options),
    absence: (name, tenant) => gate.absentTool(tenant, name),
    onChange: (listener) => gate.onUpstreamTools(listener),
  }
}

function taskTool(
  { gate, waitSeconds, cancelsAtTimeout, waitTool }: UpstreamToolOptions,
  tool: UpstreamTool,
): TaskTool {
  const args = toolArguments(tool.inputSchema)
  const { upstream, tool: name } = tool
  return {
    definition: definition(tool, args, waitSeconds, waitTool),
    waitSeconds,
    quickSeconds: QUICK_SECONDS,
    cancelsAtTimeout,
    endsWithCall: true,
    async create(given: Fields, call: Call) {
      const { identity, rest } = args.split(given)
      const { caller } = callerOf(call.credential, CREATE, withIdentity(identity, call))
      const asked = { upstream, tool: name, arguments: rest }
      const created = await gate.callTool(caller, asked, clientOf(call), call.key)
      return { caller, created }
    },
  }
}

/** What the upstream says of its tool, with what the gate adds to it after its words. */
function definition(
  tool: UpstreamTool,
  { schema }: ToolArguments,
  waitSeconds: number,
  waitTool: string,
): Tool {
  const { name, title, description, outputSchema, annotations } = tool
  const output = outputSchema && handedOn(outputSchema)
  const later = `If the result is not there within ${waitSeconds} s, it answers with a task_id for ${waitTool}.`
  return {
    name,
    ...(title !== undefined && { title }),
    description: description === '' ? later : `${description}\n\n${later}`,
    inputSchema: { ...schema },
    ...(output && { outputSchema: output }),
    ...(annotations && { annotations }),
  }
}

/** What is answered instead of a result: that the work goes on, or why there is none. */
const INSTEAD = [
  { type: 'object', description: 'While the work goes on', required: ['task_id', 'status', 'hint'] },
  { type: 'object', description: 'When isError is true', required: ['task_id', 'status', 'error'] },
  {
    type: 'object',
    description: 'When isError is true',
    required: ['error', 'code', 'message', 'hint', 'retryable'],
  },
]

/**
 * Clients check answers against the output schema, so it must allow for ours too. A schema that refers to parts of itself
 * would no longer do so in another place, and is left out: that is allowed, and costs only the check.
 */
function handedOn(schema: JsonObject): Tool['outputSchema'] {
  const { $schema, ...rest } = schema
  const isOther = typeof $schema === 'string' && !/draft-07|2020-12/.test($schema)
  if (isOther || refers(rest)) return undefined
  return { type: 'object', anyOf: [rest, ...INSTEAD] }
}

function refers(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([key, value]) => key.startsWith('$') || refers(value))
}
