import type { Tool } from '@modelcontextprotocol/server'
import { callerOf, type Fields } from '../../auth/caller.ts'
import { may, type Permission } from '../../core/authorization.ts'
import { Fault } from '../../core/errors.ts'
import { DEFAULT_TOOL_SETS } from '../../core/tool-sets.ts'
import { OPERATIONS } from '../../features/catalogue.ts'
import {
  type JsonSchema,
  mayTakeTime,
  type Operation,
  outputSchema,
} from '../../features/define-operation.ts'
import type { Gate } from '../../features/gate.ts'
import { callInView } from '../../features/summary.ts'
import { LEGACY_TOOLS } from '../legacy-tools/index.ts'
import type { AnyLegacyTool, LegacyContext } from '../legacy-tools/legacy-tool.ts'
import { CALL_TOOL, directCall, discoveryTools, FIND_TOOLS, findTools, refuseCall } from './discover.ts'
import { withIdentity } from './identity.ts'
import { type Listing, listingOf, listsOperation, type ToolNames, toolName } from './listing.ts'
import { completeSchema, modelSchema } from './model-schema.ts'
import { TenantToolCatalog } from './tenant-tools.ts'
import {
  answered,
  asFault,
  type Call,
  type FoundTool,
  type ListCall,
  type RunTool,
  refused,
  type TaskTool,
  type TaskToolSource,
  type ToolTable,
} from './tool.ts'

/** The operation that becomes an MCP task if the call asks for it. */
const CREATE = 'create_task'

export interface ToolOptions {
  readonly gate: Gate
  /** All operations by default. */
  readonly operations?: readonly Operation[] | undefined
  readonly toolNames?: ToolNames | undefined
  /** The tools that are listed for clients that do not choose. */
  readonly listing?: Listing | undefined
  /** Whether the legacy tools are included. */
  readonly legacyTools?: boolean | undefined
  /** Task tools. Operations come first where names collide, then the sources in their order. */
  readonly sources?: readonly TaskToolSource[]
  /** Receives the errors that callers only see as INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void
}

/** Every operation as a tool, the legacy tools if enabled, and the task tools. */
export function gateTools({
  gate,
  operations = OPERATIONS,
  toolNames = 'underscore',
  listing: fallback = listingOf(DEFAULT_TOOL_SETS),
  legacyTools = false,
  sources = [],
  onError,
}: ToolOptions): ToolTable {
  const found = new Map<string, FoundTool>()
  const waiting = new Map<string, (args: Fields) => boolean>()
  const permissions = new Map<string, Permission>()
  const add = (name: string, tool: FoundTool, mayWait: (args: Fields) => boolean) => {
    for (const spelling of ['dot', 'underscore'] as const) {
      found.set(toolName(name, spelling), tool)
      waiting.set(toolName(name, spelling), mayWait)
    }
  }
  for (const operation of operations) {
    const run = runOperation(gate, operation, onError)
    const tool = operation.name === CREATE ? createTool(gate, operation, run) : run
    add(operation.name, tool, mayTakeTime(operation))
    for (const spelling of ['dot', 'underscore'] as const)
      permissions.set(toolName(operation.name, spelling), operation.access)
  }
  const old = legacyTools ? LEGACY_TOOLS : []
  const context = { gate }
  for (const tool of old)
    found.set(tool.name, (args, call) => runLegacyTool(context, tool, args, call, onError))
  const own = (listing: Listing): Tool[] => [
    ...operations
      .filter((operation) => listsOperation(listing, operation))
      .map((operation) => definition(toolName(operation.name, toolNames), operation, listing)),
    ...(listing.toolsets.has('discover') ? discoveryTools(toolNames) : []),
    ...old.map((tool) => definition(tool.name, tool, listing)),
  ]
  const catalog = new TenantToolCatalog({
    own,
    taken: new Set([...found.keys(), ...[FIND_TOOLS, CALL_TOOL].map((name) => toolName(name, toolNames))]),
    alsoTasks: new Set([toolName(CREATE, toolNames)]),
    sources,
    onError,
  })
  const everything = listingOf(['all'])
  const byName = new Map(operations.map((operation) => [toolName(operation.name, toolNames), operation]))
  add(CALL_TOOL, refuseCall, () => false)
  const list: ToolTable['list'] = (call, era) =>
    catalog.list({ ...call, listing: call.listing ?? fallback }, era)
  add(
    FIND_TOOLS,
    findTools({
      list: (call) => catalog.list({ ...call, listing: everything }, 'modern'),
      mayUse: (name, call) => mayUse(byName.get(name), call),
      onError,
    }),
    () => false,
  )
  return {
    list,
    find: (name, { tenant }) => found.get(name) ?? catalog.find(name, tenant),
    mayWait(name, args) {
      const direct = directCall(name, args)
      return waiting.get(direct.name)?.(direct.args) ?? !found.has(direct.name)
    },
    permissionOf(name, args) {
      const direct = directCall(name, args).name
      // Tools that are not found here create tasks.
      return permissions.get(direct) ?? (found.has(direct) ? undefined : 'create')
    },
  }
}

/** Creates a task. The result of the call is an MCP task only if the call asks for one. */
function createTool(gate: Gate, operation: Operation, plain: RunTool): TaskTool {
  const called = (args: Fields, call: Call) =>
    callerOf(call.credential, operation, withIdentity(args, call, operation), call.origin)
  return {
    definition: definition(toolName(CREATE), operation, listingOf(DEFAULT_TOOL_SETS)),
    waitSeconds: 0,
    plain,
    callerOf: (args, call) => called(args, call).caller,
    async create(args, call) {
      const { caller, input } = called(args, call)
      return { caller, created: await gate.createTask(caller, input) }
    },
  }
}

/** Other tools than operations are checked when they are called. */
function mayUse(operation: Operation | undefined, call: ListCall): boolean {
  if (operation === undefined) return true
  try {
    const { caller } = callerOf(call.credential, operation, withIdentity({}, call, operation))
    return may(caller, operation.access)
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}

function runOperation(gate: Gate, operation: Operation, onError: (error: unknown) => void): RunTool {
  const takesTime = mayTakeTime(operation)
  return async (args, call) => {
    try {
      if (call.flaw) throw call.flaw
      const identified = withIdentity(args, call, operation)
      const { caller, input } = callerOf(call.credential, operation, identified, call.origin)
      const signal = takesTime(input) ? call.signal : undefined
      const view = call.listing?.isComplete ? 'full' : 'summary'
      return answered(await callInView(gate, operation, caller, input, view, signal), call)
    } catch (error) {
      return refused(asFault(error, onError), call)
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
    return answered(await tool.call(context, args, call), call)
  } catch (error) {
    return refused(asFault(error, onError), call)
  }
}

type Described = Pick<
  Operation,
  'title' | 'description' | 'input' | 'output' | 'actor' | 'effect' | 'modelFields' | 'summary'
>

function definition(name: string, operation: Described, { isComplete }: Listing): Tool {
  const { readOnly, destructive, idempotent } = operation.effect
  return {
    name,
    title: operation.title,
    description: operation.description,
    inputSchema: isComplete ? completeSchema(operation) : modelSchema(operation),
    ...(isComplete && { outputSchema: { type: 'object', anyOf: [outputSchema(operation), ERROR_SCHEMA] } }),
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: false,
    },
  }
}

/** Part of every output schema, because clients also validate the content of errors. */
const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'When isError is true',
  required: ['error', 'code', 'message', 'hint', 'retryable'],
}
