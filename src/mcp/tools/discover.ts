import type { Tool } from '@modelcontextprotocol/server'
import MiniSearch from 'minisearch'
import { z } from 'zod'
import { type Fields, splitIdentity } from '../../auth/caller.ts'
import { Fault } from '../../core/errors.ts'
import { parse } from '../../features/input.ts'
import { isObject } from '../../util/guards.ts'
import { type ToolNames, toolName } from './listing.ts'
import { answered, asFault, type ListCall, type RunTool, refused } from './tool.ts'

export const FIND_TOOLS = 'find_tools'
export const CALL_TOOL = 'call_tool'

const MAX_FOUND = 20
/** A reply ends before this number of characters, after at least one tool. */
const MAX_CHARACTERS = 16_000

const findInput = z.strictObject({
  query: z.string().max(500),
  limit: z.int().min(1).max(MAX_FOUND).default(5),
})

/** The two tools that a client is shown instead of all others. */
export function discoveryTools(toolNames: ToolNames): Tool[] {
  const annotations = {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  }
  return [
    {
      name: toolName(FIND_TOOLS, toolNames),
      title: 'Find tools',
      description:
        'Searches all tools that you can use here, by their names, descriptions and parameters, and returns the best matches with their schemas. ' +
        `Then call one with ${toolName(CALL_TOOL, toolNames)}.`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What the tool should do, in words; or its exact name' },
          limit: { type: 'integer', default: 5, description: `Number of tools, at most ${MAX_FOUND}` },
        },
        required: ['query'],
      },
      annotations,
    },
    {
      name: toolName(CALL_TOOL, toolNames),
      title: 'Call a tool',
      description: `Calls a tool that ${toolName(FIND_TOOLS, toolNames)} returned, with the arguments that its schema asks for.`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Name of the tool, such as git__git_status' },
          arguments: { type: 'object', description: 'Arguments of the tool' },
        },
        required: ['name'],
      },
    },
  ]
}

const CALL_NAMES: ReadonlySet<string> = new Set([
  toolName(CALL_TOOL, 'dot'),
  toolName(CALL_TOOL, 'underscore'),
])

/**
 * The call that a client means: of the tool that it names in call_tool, or of the tool itself. Policies, approvals and
 * tasks then apply to that tool. A caller that is named beside the arguments calls that tool.
 */
export function directCall(name: string, args: Fields): { readonly name: string; readonly args: Fields } {
  if (!CALL_NAMES.has(name) || typeof args.name !== 'string' || CALL_NAMES.has(args.name))
    return { name, args }
  const { arguments: inner = {}, name: _, ...others } = args
  if (!isObject(inner)) return { name, args }
  const { identity, rest } = splitIdentity(others, () => false)
  return Object.keys(rest).length > 0 ? { name, args } : { name: args.name, args: { ...identity, ...inner } }
}

const callInput = z.strictObject({
  name: z.string().refine((name) => !CALL_NAMES.has(name), 'is the name of this tool itself'),
  arguments: z.record(z.string(), z.unknown()).optional(),
})

/** Serves only calls that name no other tool: it says what is wrong with them. */
export const refuseCall: RunTool = async (args, call) => {
  try {
    if (call.flaw) throw call.flaw
    parse(callInput, splitIdentity(args, () => false).rest)
    throw new Fault('INTERNAL_ERROR')
  } catch (error) {
    return refused(
      asFault(error, () => {}),
      call,
    )
  }
}

type Index = (query: string) => readonly Tool[]

interface FindDeps {
  /** All tools that the caller can be shown. The same array until they change. */
  list(call: ListCall): Promise<readonly Tool[]>
  mayUse(name: string, call: ListCall): boolean
  readonly onError: (error: unknown) => void
}

/** Searches the tools that a caller may use. */
export function findTools({ list, mayUse, onError }: FindDeps): RunTool {
  const indexes = new WeakMap<readonly Tool[], Index>()
  return async (args, call) => {
    try {
      if (call.flaw) throw call.flaw
      const { rest } = splitIdentity(args, () => false)
      const { query, limit } = parse(findInput, rest)
      const tools = await list(call)
      const index = indexes.get(tools) ?? indexOf(tools)
      indexes.set(tools, index)
      const found = index(query).filter(({ name }) => mayUse(name, call))
      return answered(replyOf(found.slice(0, limit)), call)
    } catch (error) {
      return refused(asFault(error, onError), call)
    }
  }
}

function indexOf(tools: readonly Tool[]): Index {
  const search = new MiniSearch({ fields: ['name', 'description', 'parameters'], idField: 'id' })
  search.addAll(
    tools.map(({ name, title, description, inputSchema }, id) => ({
      id,
      name: name.replaceAll(/[_.-]+/g, ' '),
      description: `${title ?? ''} ${description ?? ''}`,
      parameters: JSON.stringify(inputSchema.properties ?? {}),
    })),
  )
  const options = { boost: { name: 3, description: 2 }, prefix: true, fuzzy: 0.2 }
  return (query) => {
    const exact = tools.filter(({ name }) => name === query)
    const ranked = search.search(query.replaceAll(/[_.-]+/g, ' '), options)
    const matches = ranked.flatMap(({ id }) => tools[id] ?? [])
    return [...new Set([...exact, ...matches])]
  }
}

function replyOf(tools: readonly Tool[]): object {
  const shown: object[] = []
  let length = 0
  for (const { name, description, inputSchema } of tools) {
    const tool = { name, description, inputSchema }
    length += JSON.stringify(tool).length
    if (shown.length > 0 && length > MAX_CHARACTERS) break
    shown.push(tool)
  }
  if (shown.length === 0) return { tools: [], hint: 'No tool matches. Try other words.' }
  return {
    tools: shown,
    ...(shown.length < tools.length && { hint: 'Other matches were left out. Narrow the query.' }),
  }
}
