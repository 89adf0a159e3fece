import type { Tool } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import type { Fault } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import { needsAgentId } from './identity.ts'
import { type Listing, listsTaskTools } from './listing.ts'
import { withAgentId } from './model-schema.ts'
import {
  asFault,
  type Era,
  type FoundTool,
  type ListCall,
  type RunTool,
  refused,
  type TaskTool,
  type TaskToolSource,
} from './tool.ts'

export interface TenantToolCatalogOptions {
  /** The tools of AsyncGate itself in a listing, the same for all callers. */
  own(listing: Listing): readonly Tool[]
  /** Names that no task tool can have. */
  readonly taken: ReadonlySet<string>
  /** The own tools that can be called as tasks. */
  readonly alsoTasks: ReadonlySet<string>
  readonly sources: readonly TaskToolSource[]
  readonly onError: (error: unknown) => void
}

type Tools = ReadonlyMap<string, TaskTool>

type Names = ReadonlySet<string>

type Lists = Readonly<Record<Era, readonly Tool[]>>

/** The task tools of a tenant. */
interface CatalogEntry {
  /** The maps that it was built from. */
  readonly parts: readonly Tools[]
  readonly tasks: Tools
  /** The tools in each form that a client has asked for. */
  readonly lists: Map<Listing, Map<boolean, Lists>>
}

interface ListOptions extends ListCall {
  readonly listing: Listing
}

/** The tools of each tenant: the own tools, then the task tools of all sources. */
export class TenantToolCatalog {
  readonly #options: TenantToolCatalogOptions
  readonly #entries = new Map<string, CatalogEntry>()
  /** What a client is shown while the task tools are unknown. */
  readonly #ownOnly: CatalogEntry = { parts: [], tasks: new Map(), lists: new Map() }
  /** Caches lists without the hidden tools. */
  readonly #without = new WeakMap<Lists, WeakMap<Names, Lists>>()

  constructor(options: TenantToolCatalogOptions) {
    this.#options = options
  }

  /** While the database is unavailable, the list contains the own tools only. */
  async list(call: ListOptions, era: Era): Promise<readonly Tool[]> {
    try {
      const entry = await this.#entry(call.credential.tenant)
      let lists = this.#lists(entry, call)
      for (const hidden of await this.#hidden(call.credential)) lists = this.#hide(entry, lists, hidden)
      return lists[era]
    } catch (error) {
      asFault(error, this.#options.onError)
      return this.#lists(this.#ownOnly, call)[era]
    }
  }

  async find(name: string, tenant: string): Promise<FoundTool | undefined> {
    try {
      const found = (await this.#entry(tenant)).tasks.get(name)
      if (found !== undefined) return found
      const fault = await this.#absence(name, tenant)
      return fault && refusing(fault)
    } catch (error) {
      return refusing(asFault(error, this.#options.onError))
    }
  }

  /** Under a shared key the caller is unknown before the call. */
  async #hidden(credential: Credential): Promise<readonly Names[]> {
    const { tenant } = credential
    const principal = credential.kind === 'bound' ? principalKey(credential.principal) : undefined
    const sets = await Promise.all(
      this.#options.sources.map((source) => source.hidden?.(tenant, principal) ?? NOTHING),
    )
    return sets.filter(({ size }) => size > 0)
  }

  #hide({ tasks }: CatalogEntry, tools: Lists, hidden: Names): Lists {
    const made = this.#without.get(tools) ?? new WeakMap<Names, Lists>()
    this.#without.set(tools, made)
    const known = made.get(hidden)
    if (known !== undefined) return known
    const isShown = ({ name }: Tool) => !(hidden.has(name) && tasks.has(name))
    const shown = { modern: tools.modern.filter(isShown), legacy: tools.legacy.filter(isShown) }
    made.set(hidden, shown)
    return shown
  }

  async #absence(name: string, tenant: string): Promise<Fault | undefined> {
    for (const source of this.#options.sources) {
      const fault = await source.absence?.(name, tenant)
      if (fault !== undefined) return fault
    }
    return undefined
  }

  async #entry(tenant: string): Promise<CatalogEntry> {
    const parts = await Promise.all(this.#options.sources.map((source) => source.tools(tenant)))
    const known = this.#entries.get(tenant)
    if (known !== undefined && parts.every((part, index) => part === known.parts[index])) return known
    const entry = this.#fill(parts)
    this.#entries.set(tenant, entry)
    return entry
  }

  #fill(parts: readonly Tools[]): CatalogEntry {
    const tasks = new Map<string, TaskTool>()
    for (const [name, tool] of parts.flatMap((part) => [...part])) {
      if (!this.#options.taken.has(name) && !tasks.has(name)) tasks.set(name, tool)
    }
    return { parts, tasks, lists: new Map() }
  }

  #lists({ tasks, lists }: CatalogEntry, call: ListOptions): Lists {
    const { listing } = call
    const isNameless = !listing.isComplete && needsAgentId(call)
    const forms = lists.get(listing) ?? new Map<boolean, Lists>()
    lists.set(listing, forms)
    const known = forms.get(isNameless)
    if (known !== undefined) return known
    const { own, alsoTasks } = this.#options
    const shown = listsTaskTools(listing) ? [...tasks.values()] : []
    const tools = [...own(listing), ...shown.map(({ definition }) => taskDefinition(definition, listing))]
    const made = asLists(isNameless ? tools.map(withAgent) : tools, new Set([...alsoTasks, ...tasks.keys()]))
    forms.set(isNameless, made)
    return made
  }
}

const NOTHING: Names = new Set()

/** A tool that only returns the reason why it cannot be called. */
function refusing(fault: Fault): RunTool {
  return async (_, call) => refused(fault, call)
}

/** The schema of the result is for programs, which also check calls that name their agent. */
function taskDefinition(definition: Tool, { isComplete }: Listing): Tool {
  if (isComplete) return withAgent(definition)
  const { outputSchema: _, ...shown } = definition
  return shown
}

function withAgent(tool: Tool): Tool {
  const isWorkers = tool.inputSchema.properties?.worker_id !== undefined
  return isWorkers ? tool : { ...tool, inputSchema: withAgentId(tool.inputSchema) }
}

/** Legacy tools declare that they can be called as tasks. */
function asLists(tools: readonly Tool[], tasks: ReadonlySet<string>): Lists {
  const asTask = (tool: Tool): Tool => ({ ...tool, execution: { taskSupport: 'optional' } })
  return { modern: tools, legacy: tools.map((tool) => (tasks.has(tool.name) ? asTask(tool) : tool)) }
}
