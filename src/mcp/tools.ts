import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { callerOf, type Fields } from '../auth/caller.ts'
import type { Gate } from '../gate/gate.ts'
import { OPERATIONS } from '../operations/catalogue.ts'
import type { Operation } from '../operations/operation.ts'
import { inputSchema, type JsonSchema, outputSchema } from '../operations/schemas.ts'
import { OLD_TOOLS } from './old-names/index.ts'
import type { AnyOldTool, OldNames } from './old-names/old-tool.ts'
import { Runs } from './old-names/runs.ts'
import { answered, asFault, type Call, type RunTool, refused, type ToolTable } from './tool.ts'
import { TypeTools } from './type-tools.ts'

/** Some model APIs refuse a dot in the name of a tool. Calls may use either spelling whatever is listed. */
export type ToolNames = 'dot' | 'underscore'

const SEPARATORS: Record<ToolNames, string> = { dot: '.', underscore: '_' }

export interface ToolOptions {
  readonly gate: Gate
  readonly toolNames?: ToolNames | undefined
  /** Whether the tools of the old names are there too. */
  readonly oldNames?: boolean | undefined
  /** Hears of the errors that callers only see as INTERNAL_ERROR. */
  readonly onError: (error: unknown) => void
}

/** Every operation of the catalogue as a tool, the old names if wanted, and the types of tasks that are tools of their own. */
export function gateTools({ gate, toolNames = 'dot', oldNames = false, onError }: ToolOptions): ToolTable {
  const runs = new Map<string, RunTool>()
  for (const operation of OPERATIONS) {
    const run = (args: Fields, call: Call) => runOperation(gate, operation, args, call, onError)
    for (const spelling of ['dot', 'underscore'] as const) runs.set(toolName(operation, spelling), run)
  }
  const old = oldNames ? OLD_TOOLS : []
  const context = { gate, runs: new Runs() }
  for (const tool of old) runs.set(tool.name, (args, call) => runOldTool(context, tool, args, call, onError))
  const own = [
    ...OPERATIONS.map((operation) => definition(toolName(operation, toolNames), operation)),
    ...old.map((tool) => definition(tool.name, tool)),
  ]
  const types = new TypeTools({
    gate,
    own,
    onError,
    waitTool: `asyncgate${SEPARATORS[toolNames]}wait_for_task`,
  })
  return {
    list: ({ tenant }) => types.list(tenant),
    find: (name, { tenant }) => runs.get(name) ?? types.find(name, tenant),
  }
}

async function runOperation(
  gate: Gate,
  operation: Operation,
  args: Fields,
  call: Call,
  onError: (error: unknown) => void,
) {
  try {
    if (call.flaw) throw call.flaw
    const { caller, input } = callerOf(call.credential, operation, args)
    return answered(await operation.run(gate, caller, input, call.signal))
  } catch (error) {
    return refused(asFault(error, onError), call.requestId)
  }
}

async function runOldTool(
  context: OldNames,
  tool: AnyOldTool,
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
    inputSchema: withIdentity(operation),
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

/** The arguments by which a call says who makes it. A key that is bound to somebody says so itself. */
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

function withIdentity(operation: Described): Tool['inputSchema'] {
  const { properties, ...rest } = objectSchema.parse(inputSchema(operation))
  const identity = IDENTITY[operation.actor === 'worker' ? 'worker' : 'agent']
  // The operation's own field of the same name says more.
  return { ...rest, type: 'object', properties: { ...properties, ...identity, ...properties } }
}

const objectSchema = z.looseObject({
  properties: z.record(z.string(), z.json()),
  required: z.array(z.string()).optional(),
})

/**
 * Part of every output schema: clients check what an answer contains against it even when the answer is an error.
 */
const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'When isError is true',
  required: ['error', 'code', 'message', 'hint', 'retryable'],
}
