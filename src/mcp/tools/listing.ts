import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../../core/errors.ts'
import { TOOL_SETS, type ToolSet, toolSetNamed } from '../../core/tool-sets.ts'
import type { Operation } from '../../features/define-operation.ts'

/** Several model APIs refuse dots in tool names. Calls may use either spelling. */
export type ToolNames = 'dot' | 'underscore'

const SEPARATORS: Record<ToolNames, string> = { dot: '.', underscore: '_' }

/** The name of an operation as a tool. */
export function toolName(operation: string, toolNames: ToolNames = 'underscore'): string {
  return `asyncgate${SEPARATORS[toolNames]}${operation}`
}

/** Which tools a client is shown, and how. It never restricts what a client may call. */
export interface Listing {
  readonly toolsets: ReadonlySet<ToolSet>
  /** Whether schemas are complete, with those of results, and results are structured: for programs. */
  readonly isComplete: boolean
}

/** The same choice is the same object, so that lists can be cached by it. */
const listings = new Map<string, Listing>()

export function listingOf(toolsets: readonly ToolSet[], isComplete = false): Listing {
  const chosen = TOOL_SETS.filter((set) => toolsets.includes(set))
  const key = `${chosen} ${isComplete}`
  const known = listings.get(key)
  if (known !== undefined) return known
  const listing = { toolsets: new Set(chosen), isComplete }
  listings.set(key, listing)
  return listing
}

const TOOLSETS_HEADER = 'x-asyncgate-toolsets'

/** The listing that a request asks for in its URL or else in its header, or the default. */
export function requestedListing(url: string, headers: IncomingHttpHeaders, fallback: Listing): Listing {
  const mark = url.indexOf('?')
  const header = headers[TOOLSETS_HEADER]
  if (mark < 0 && header === undefined) return fallback
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  const named = query.get('toolsets') ?? (Array.isArray(header) ? header.join() : header)
  const sets = named === undefined ? [...fallback.toolsets] : readToolSets(named)
  return listingOf(sets, readSchemas(query.get('schemas')) ?? fallback.isComplete)
}

/** Reads a list such as `agent,worker`. */
function readToolSets(text: string): readonly ToolSet[] {
  return text.split(',').map((part) => {
    const name = part.trim()
    const set = toolSetNamed(name)
    if (set === undefined)
      throw invalid('toolsets', `has "${name.slice(0, 40)}"; use ${TOOL_SETS.join(', ')}`)
    return set
  })
}

function readSchemas(text: string | null): boolean | undefined {
  if (text === null) return undefined
  if (text === 'output') return true
  if (text === 'input') return false
  throw invalid('schemas', 'is not input or output')
}

/** What a client needs to follow the calls of upstream tools. */
const FOLLOWING: ReadonlySet<string> = new Set(['get_task', 'wait_for_task', 'cancel_task'])

export function listsOperation(
  { toolsets }: Listing,
  operation: Pick<Operation, 'name' | 'toolsets'>,
): boolean {
  if (toolsets.has('all')) return true
  if (toolsets.has('gateway') && FOLLOWING.has(operation.name)) return true
  return operation.toolsets?.some((set) => toolsets.has(set)) ?? false
}

/** Whether the tools of task types and upstreams are listed one by one. */
export function listsTaskTools({ toolsets }: Listing): boolean {
  if (toolsets.has('discover')) return false
  return toolsets.has('agent') || toolsets.has('gateway') || toolsets.has('all')
}
