import type { Tool } from '@modelcontextprotocol/server'
import type { Credential } from '../../auth/credential.ts'
import type { Fault } from '../../core/errors.ts'
import { principalKey } from '../../core/principal.ts'
import {
  asFault,
  type Era,
  type FoundTool,
  type RunTool,
  refused,
  type TaskTool,
  type TaskToolSource,
} from './tool.ts'

export interface TenantToolCatalogOptions {
  /** The tools of AsyncGate itself, which all callers see. */
  readonly own: readonly Tool[]
  /** The own tools that can be called as tasks. */
  readonly alsoTasks: ReadonlySet<string>
  readonly sources: readonly TaskToolSource[]
  readonly onError: (error: unknown) => void
}

type Tools = ReadonlyMap<string, TaskTool>

type Names = ReadonlySet<string>

/** The tools of a tenant. */
interface CatalogEntry {
  /** The maps that it was built from. */
  readonly parts: readonly Tools[]
  readonly tools: Readonly<Record<Era, readonly Tool[]>>
  readonly tasks: Tools
}

/** The tools of each tenant: the own tools, then the task tools of all sources. */
export class TenantToolCatalog {
  readonly #options: TenantToolCatalogOptions
  readonly #taken: ReadonlySet<string>
  readonly #own: CatalogEntry['tools']
  readonly #entries = new Map<string, CatalogEntry>()
  /** Caches lists without the hidden tools. */
  readonly #without = new WeakMap<CatalogEntry['tools'], WeakMap<Names, CatalogEntry['tools']>>()

  constructor(options: TenantToolCatalogOptions) {
    this.#options = options
    this.#taken = new Set(options.own.map(({ name }) => name))
    this.#own = listed(options.own, options.alsoTasks)
  }

  /** While the database is unavailable, the list contains the own tools only. */
  async list(credential: Credential, era: Era): Promise<readonly Tool[]> {
    try {
      const entry = await this.#entry(credential.tenant)
      let { tools } = entry
      for (const hidden of await this.#hidden(credential)) tools = this.#hide(entry, tools, hidden)
      return tools[era]
    } catch (error) {
      asFault(error, this.#options.onError)
      return this.#own[era]
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

  #hide({ tasks }: CatalogEntry, tools: CatalogEntry['tools'], hidden: Names): CatalogEntry['tools'] {
    const made = this.#without.get(tools) ?? new WeakMap<Names, CatalogEntry['tools']>()
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
      if (!this.#taken.has(name) && !tasks.has(name)) tasks.set(name, tool)
    }
    if (tasks.size === 0) return { parts, tools: this.#own, tasks }
    const definitions = [...tasks.values()].map(({ definition }) => definition)
    const { own, alsoTasks } = this.#options
    const names = new Set([...alsoTasks, ...tasks.keys()])
    return { parts, tools: listed([...own, ...definitions], names), tasks }
  }
}

const NOTHING: Names = new Set()
/** A tool that only returns the reason why it cannot be called. */
function refusing(fault: Fault): RunTool {
  return async (_, { requestId }) => refused(fault, requestId)
}

/** Legacy tools declare that they can be called as tasks. */
function listed(tools: readonly Tool[], tasks: ReadonlySet<string>): CatalogEntry['tools'] {
  const asTask = (tool: Tool): Tool => ({ ...tool, execution: { taskSupport: 'optional' } })
  return { modern: tools, legacy: tools.map((tool) => (tasks.has(tool.name) ? asTask(tool) : tool)) }
}
