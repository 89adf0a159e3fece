import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { callerOf, type Fields } from '../../auth/caller.ts'
import { OPERATIONS } from '../../features/catalogue.ts'
import {
  inputSchema,
  type JsonSchema,
  mayTakeTime,
  type Operation,
  outputSchema,
} from '../../features/define-operation.ts'
import type { Gate } from '../../features/gate.ts'
import { LEGACY_TOOLS } from '../legacy-tools/index.ts'
import type { AnyLegacyTool, LegacyContext } from '../legacy-tools/legacy-tool.ts'
import { withIdentity } from './identity.ts'
import { TenantToolCatalog } from './tenant-tools.ts'
import {
  answered,
  asFault,
  type Call,
  type FoundTool,
  type RunTool,
  refused,
  type TaskTool,
  type TaskToolSource,
  type ToolTable,
} from './tool.ts'

/** Some model APIs refuse dots in tool names. Calls may use either spelling. */
export type ToolNames = 'dot' | 'underscore'

/** The operation that becomes an MCP task if the call asks for it. */
const CREATE = 'create_task'

const SEPARATORS: Record<ToolNames, string> = { dot: '.', underscore: '_' }

export interface ToolOptions {
  readonly gate: Gate
  /** All operations by default. */
  readonly operations?: readonly Operation[] | undefined
  readonly toolNames?: ToolNames | undefined
  /** Whether the legacy tools are included. */
  readonly legacyTools?: boolean | undefined
  /** Task tools. Operations come first where names collide, then the sources in their order. */
  readonly sources?: readonly TaskToolSource[]
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void
}

export function waitToolName(toolNames: ToolNames = 'dot'): string {
  return `asyncgate${SEPARATORS[toolNames]}wait_for_task`
}

/** Every operation as a tool, the legacy tools if enabled, and the task tools. */
export function gateTools({
  gate,
  operations = OPERATIONS,
  toolNames = 'dot',
  legacyTools = false,
  sources = [],
  onError,
}: ToolOptions): ToolTable {
  const found = new Map<string, FoundTool>()
  const waiting = new Map<string, (args: Fields) => boolean>()
  for (const operation of operations) {
    const run = runOperation(gate, operation, onError)
    const tool = operation.name === CREATE ? createTool(gate, operation, run) : run
    for (const spelling of ['dot', 'underscore'] as const) {
      found.set(toolName(operation, spelling), tool)
      waiting.set(toolName(operation, spelling), mayTakeTime(operation))
    }
  }
  const old = legacyTools ? LEGACY_TOOLS : []
  const context = { gate }
  for (const tool of old)
    found.set(tool.name, (args, call) => runLegacyTool(context, tool, args, call, onError))
  const own = [
    ...operations.map((operation) => definition(toolName(operation, toolNames), operation)),
    ...old.map((tool) => definition(tool.name, tool)),
  ]
  const alsoTasks = new Set([`asyncgate${SEPARATORS[toolNames]}${CREATE}`])
  const catalog = new TenantToolCatalog({ own, alsoTasks, sources, onError })
  return {
    list: (credential, era) => catalog.list(credential, era),
    find: (name, { tenant }) => found.get(name) ?? catalog.find(name, tenant),
    mayWait: (name, args) => waiting.get(name)?.(args) ?? !found.has(name),
  }
}

/** Creates a task. The result of the call is an MCP task only if the call asks for one. */
function createTool(gate: Gate, operation: Operation, plain: RunTool): TaskTool {
  const called = (args: Fields, call: Call) =>
    callerOf(call.credential, operation, withIdentity(args, call, operation))
  return {
    definition: definition(toolName(operation, 'dot'), operation),
    waitSeconds: 0,
    plain,
    callerOf: (args, call) => called(args, call).caller,
    async create(args, call) {
      const { caller, input } = called(args, call)
      return { caller, created: await gate.createTask(caller, input) }
    },
  }
}

function runOperation(gate: Gate, operation: Operation, onError: (error: unknown) => void): RunTool {
  const takesTime = mayTakeTime(operation)
  return async (args, call) => {
    try {
      if (call.flaw) throw call.flaw
      const { caller, input } = callerOf(call.credential, operation, withIdentity(args, call, operation))
      const signal = takesTime(input) ? call.signal : undefined
      return answered(await gate.call(operation, caller, input, signal))
    } catch (error) {
      return refused(asFault(error, onError), call.requestId)
    }
  }
}

async function runLegacyTool(
  context: LegacyContext,
  tool: AnyLegacyTool,
  args: Fields,
  call: Call,
  onError: (error: unknown) => void,
) {
  try {
    return answered(await tool.call(context, args, call))
  } catch (error) {
    return refused(asFault(error, onError), call.requestId)
  }
}

function toolName(operation: Operation, spelling: ToolNames): string {
  return `asyncgate${SEPARATORS[spelling]}${operation.name}`
}

type Described = Pick<Operation, 'title' | 'description' | 'input' | 'output' | 'actor' | 'effect'>

function definition(name: string, operation: Described): Tool {
  const { readOnly, destructive, idempotent } = operation.effect
  return {
    name,
    title: operation.title,
    description: operation.description,
    inputSchema: withIdentityFields(operation),
    outputSchema: { type: 'object', anyOf: [outputSchema(operation), ERROR_SCHEMA] },
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: false,
    },
  }
}

const name = (description: string) => ({ type: 'string', description })

const ANYONE = {
  tenant_id: name('Your tenant; only for checking'),
  auth_token: name('Your key, if you cannot send it as a header'),
  trace_id: name('Your own mark for this call'),
}

/** The arguments that identify the caller. A bound key does that by itself. */
const IDENTITY = {
  agent: {
    agent_id: name('Who you are, under a shared key'),
    principal_kind: { type: 'string', description: 'agent unless said otherwise' },
    principal_id: name('The same as agent_id, for any kind'),
    ...ANYONE,
  },
  worker: {
    worker_kind: { type: 'string', enum: ['worker', 'service'], description: 'worker unless said otherwise' },
    worker_instance_id: name('Which of your processes calls'),
    ...ANYONE,
  },
}

function withIdentityFields(operation: Described): Tool['inputSchema'] {
  const { properties, ...rest } = objectSchema.parse(inputSchema(operation))
  const identity = IDENTITY[operation.actor === 'worker' ? 'worker' : 'agent']
  // A field of the operation with the same name has the better description.
  return { ...rest, type: 'object', properties: { ...properties, ...identity, ...properties } }
}

const objectSchema = z.looseObject({
  properties: z.record(z.string(), z.json()),
  required: z.array(z.string()).optional(),
})

/** Part of every output schema, because clients also validate the content of errors. */
const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'When isError is true',
  required: ['error', 'code', 'message', 'hint', 'retryable'],
}
