import type { Tool } from '@modelcontextprotocol/server'
import { callerOf, type Fields, splitIdentity } from '../../auth/caller.ts'
import type { Json, JsonObject } from '../../core/json/json.ts'
import type { Caller } from '../../core/principal.ts'
import type { Gate } from '../../features/gate.ts'
import { DEFAULT_TOOL_WAIT_SECONDS, type TaskTypeView, toolName } from '../../features/task-types/shape.ts'
import { createInput } from '../../features/tasks/task-input.ts'
import type { UpstreamTool } from '../../features/upstreams/upstreams.ts'
import { isObject } from '../../util/guards.ts'
import { type UpstreamReadOptions, UpstreamReads } from '../reads/upstream-reads.ts'
import { clientOf } from '../transport/client-instance.ts'
import { withIdentity } from './identity.ts'
import type { Call, TaskTool, TaskToolSource } from './tool.ts'

/**
 * Arguments of every tool that identify the caller. A property of the tool with such a name is renamed, so that no key
 * gets into a payload and no payload names the caller.
 */
const TAKEN: ReadonlySet<string> = new Set([
  'auth_token',
  'agent_id',
  'principal_id',
  'principal_kind',
  'principal_instance_id',
])

export interface ToolArguments {
  /** The schema for clients. Arguments that identify the caller are accepted besides. */
  readonly schema: { readonly type: 'object' } & JsonObject
  /** Separates the identity of the caller from the arguments, under the names of the tool. */
  split(args: Fields): { identity: Fields; rest: Fields }
}

export function toolArguments(schema: JsonObject): ToolArguments {
  const own = isObject(schema.properties) ? schema.properties : {}
  const listed = new Map(Object.keys(own).map((name) => [name, listedName(name, own)]))
  const names = new Map([...listed].map(([name, shown]) => [shown, name]))
  const properties = Object.fromEntries([...listed].map(([name, shown]) => [shown, own[name] ?? {}]))
  const { required } = schema
  return {
    schema: {
      ...schema,
      type: 'object',
      properties,
      ...(Array.isArray(required) && { required: required.map((name) => listed.get(String(name)) ?? name) }),
    },
    split(args) {
      const { identity, rest } = splitIdentity(args, (name) => name in own && !TAKEN.has(name))
      const isRenamed = Object.keys(rest).some((name) => (names.get(name) ?? name) !== name)
      if (!isRenamed) return { identity, rest }
      const entries = Object.entries(rest).map(([name, value]) => [names.get(name) ?? name, value])
      return { identity, rest: Object.fromEntries(entries) }
    },
  }
}

function listedName(name: string, own: object): string {
  if (!TAKEN.has(name)) return name
  let shown = `arg_${name}`
  while (shown in own) shown = `arg_${shown}`
  return shown
}

/** A call of such a tool creates a task, so it needs the same permission and the same identity. */
const CREATE = { actor: 'agent', input: createInput } as const

/** Task types as tools: a call creates a task. `waitTool` is the tool with which a model waits for the result. */
export function typeTools(gate: Gate, waitTool: string): TaskToolSource {
  return {
    tools: toolMaps(
      (tenant) => gate.toolTypes(tenant),
      toolName,
      (type) => typeTool(gate, type, waitTool),
    ),
    onChange: (listener) => gate.onToolTypes(listener),
  }
}

/** Converts a list of tools once: the same list gives the same map. */
function toolMaps<Item extends object>(
  list: (tenant: string) => readonly Item[] | Promise<readonly Item[]>,
  nameOf: (item: Item) => string,
  toolOf: (item: Item) => TaskTool,
): TaskToolSource['tools'] {
  const known = new WeakMap<readonly Item[], ReadonlyMap<string, TaskTool>>()
  return async (tenant) => {
    const items = await list(tenant)
    const before = known.get(items)
    if (before !== undefined) return before
    const tools = new Map(items.map((item) => [nameOf(item), toolOf(item)]))
    known.set(items, tools)
    return tools
  }
}

function typeTool(gate: Gate, type: TaskTypeView, waitTool: string): TaskTool {
  const args = toolArguments(type.payload_schema ?? {})
  const { tool } = type
  const waitSeconds = tool?.wait_seconds ?? DEFAULT_TOOL_WAIT_SECONDS
  const what = tool?.description ?? type.description ?? `Has a worker do a task of type ${type.type}.`
  return {
    definition: {
      name: toolName(type),
      ...(tool?.title !== undefined && { title: tool.title }),
      description: `${what} ${lateResult(waitSeconds, waitTool)}`,
      inputSchema: { ...args.schema },
    },
    waitSeconds,
    callerOf: (given, call) => ownerOf(args.split(given).identity, call),
    async create(given, call) {
      const { identity, rest } = args.split(given)
      const caller = ownerOf(identity, call)
      return { caller, created: await gate.createTask(caller, { type: type.type, payload: rest }) }
    },
  }
}

function ownerOf(identity: Fields, call: Call): Caller {
  return callerOf(call.credential, CREATE, withIdentity(identity, call), call.origin).caller
}

function lateResult(waitSeconds: number, waitTool: string): string {
  return `If the result is not there within ${waitSeconds} s, it answers with a task_id for ${waitTool}.`
}

/** Most calls end within this time and then need no task handle that the client has to poll. */
const QUICK_SECONDS = 0.25

/** The tools of upstreams: a call is a task of the session of its client. */
export function upstreamTools(options: UpstreamReadOptions): TaskToolSource {
  const { gate } = options
  return {
    tools: toolMaps(
      (tenant) => gate.upstreamTools(tenant),
      ({ name }) => name,
      (tool) => upstreamTool(options, tool),
    ),
    hidden: (tenant, principal) => gate.blockedTools(tenant, principal),
    reads: new UpstreamReads(options),
    absence: async (name, tenant) => gate.absentTool(tenant, name),
    onChange: (listener) => gate.onUpstreamTools(listener),
  }
}

function upstreamTool(
  { gate, waitSeconds, cancelsAtTimeout, waitTool }: UpstreamReadOptions,
  tool: UpstreamTool,
): TaskTool {
  const args = toolArguments(tool.inputSchema)
  const { upstream, tool: name, title, description, outputSchema, annotations } = tool
  const output = outputSchema && withErrors(outputSchema)
  const later = lateResult(waitSeconds, waitTool)
  return {
    definition: {
      name: tool.name,
      ...(title !== undefined && { title }),
      description: description === '' ? later : `${description}\n\n${later}`,
      inputSchema: { ...args.schema },
      ...(output && { outputSchema: output }),
      ...(annotations && { annotations }),
    },
    waitSeconds,
    quickSeconds: QUICK_SECONDS,
    cancelsAtTimeout,
    endsWithCall: true,
    callerOf: (given, call) => ownerOf(args.split(given).identity, call),
    async create(given, call) {
      const { identity, rest } = args.split(given)
      const caller = ownerOf(identity, call)
      const asked = { upstream, tool: name, arguments: rest }
      const created = await gate.callTool(caller, asked, clientOf(call), call.key)
      return { caller, created }
    },
  }
}

/** What a call returns instead of a result: a task that has not ended, or an error. */
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
 * Clients validate results against the output schema, so it must allow for INSTEAD too. A schema that contains references
 * would break when it is nested, so it is omitted: clients then skip the validation.
 */
function withErrors(schema: JsonObject): Tool['outputSchema'] {
  const { $schema, ...rest } = schema
  const isOther = typeof $schema === 'string' && !/draft-07|2020-12/.test($schema)
  if (isOther || refers(rest)) return undefined
  return { type: 'object', anyOf: [rest, ...INSTEAD] }
}

function refers(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([key, value]) => key.startsWith('$') || refers(value))
}
