import { invalid } from '../../core/errors.ts'
import { isoTime } from '../../core/time.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import type { Entry } from '../../store/entries.ts'
import type { Services } from '../services.ts'
import { TaskTypeRule } from './rule.ts'
import { type TaskTypeDraft, type TaskTypeView, toolName } from './shape.ts'

const KIND = 'task_type'

/** All types of a tenant are in memory. */
export const MAX_TASK_TYPES = 1000
const PAGE = 200

/** The types of a tenant. */
export interface TypeTable {
  readonly rules: ReadonlyMap<string, TaskTypeRule>
  /** Those that are tools and enabled. The same list as long as they are the same. */
  readonly tools: readonly TaskTypeView[]
  /** Whether any of them names milestones. */
  readonly hasMilestones: boolean
}

/** What is kept: the times are the gate's, the version is the entry's. */
type Stored = Omit<TaskTypeView, 'version'>

/** The registry of task types: in the store, and in memory for whoever creates tasks. */
export class TaskTypes {
  readonly #engine: Services
  readonly #copies: TenantCopies<TypeTable>
  readonly #listeners = new Set<(tenant: number) => void>()

  constructor(engine: Services) {
    this.#engine = engine
    this.#copies = new TenantCopies({
      shared: engine.store.shared,
      read: (tenant, before) => this.#read(tenant, before),
      replaced: (tenant, after, before) => {
        if (after.tools !== before.tools) for (const listener of this.#listeners) listener(tenant)
      },
      report: (error) => engine.report(error),
    })
  }

  /** Undefined until it is loaded. */
  known(tenant: number): TypeTable | undefined {
    return this.#copies.known(tenant)
  }

  load(tenant: number): Promise<TypeTable> {
    return this.#engine.reading(() => this.#copies.load(tenant))
  }

  /** Calls back when the tools of a tenant are others. Returns the way to stop listening. */
  onTools(listener: (tenant: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async get(tenant: number, type: string): Promise<TaskTypeView | undefined> {
    const entry = await this.#engine.reading(() => this.#engine.store.entries.get(tenant, KIND, type))
    return entry && viewOf(entry)
  }

  /** In the order of their names, those after `after`. */
  async list(tenant: number, after: string, limit: number): Promise<TaskTypeView[]> {
    const entries = await this.#engine.reading(() =>
      this.#engine.store.entries.list(tenant, KIND, after, limit),
    )
    return entries.map(viewOf)
  }

  /** Creates or replaces a type. The same again changes nothing. */
  async register(tenant: number, draft: TaskTypeDraft): Promise<TaskTypeView> {
    for (;;) {
      const before = await this.get(tenant, draft.type)
      if (before !== undefined && isSame(draft, before)) return before
      await this.#checkPlace(tenant, draft, before === undefined)
      const now = isoTime(Date.now())
      const stored: Stored = { ...draft, created_at: before?.created_at ?? now, updated_at: now }
      const entry = { tenant, kind: KIND, name: draft.type, value: JSON.stringify(stored), due_at: null }
      const version = await this.#engine.writing((entries) => entries.put(entry, before?.version ?? 0))
      await this.#reload(tenant)
      if (version !== undefined) return { ...stored, version }
    }
  }

  /** Whether it was there. */
  async remove(tenant: number, type: string): Promise<boolean> {
    const removed = await this.#engine.writing((entries) => entries.remove(tenant, KIND, type))
    await this.#reload(tenant)
    return removed
  }

  stop(): Promise<void> {
    return this.#copies.stop()
  }

  #reload(tenant: number): Promise<TypeTable> {
    return this.#engine.reading(() => this.#copies.refresh(tenant))
  }

  async #checkPlace(tenant: number, draft: TaskTypeDraft, isNew: boolean): Promise<void> {
    const { rules } = await this.#reload(tenant)
    if (isNew && rules.size >= MAX_TASK_TYPES) {
      throw invalid('type', `is one too many: there are ${MAX_TASK_TYPES} already, so remove one first`)
    }
    if (draft.tool === null) return
    for (const { view } of rules.values()) {
      if (view.tool === null || view.type === draft.type || toolName(view) !== toolName(draft)) continue
      throw invalid('tool.name', `is the tool of type ${view.type} already`)
    }
  }

  async #read(tenant: number, before: TypeTable | undefined): Promise<TypeTable> {
    const { entries } = this.#engine.store
    const found: Entry[] = []
    for (let after = ''; ; after = found.at(-1)?.name ?? '') {
      const page = await entries.list(tenant, KIND, after, PAGE)
      found.push(...page)
      if (page.length < PAGE) break
    }
    return this.#tableOf(found, before)
  }

  #tableOf(entries: readonly Entry[], before: TypeTable | undefined): TypeTable {
    const rules = new Map<string, TaskTypeRule>()
    for (const entry of entries) {
      const text = `${entry.version} ${entry.value}`
      const known = before?.rules.get(entry.name)
      rules.set(entry.name, known?.text === text ? known : new TaskTypeRule(text, viewOf(entry)))
    }
    const tools = [...rules.values()].map((rule) => rule.view).filter(isTool)
    const isOld = before !== undefined && isSameList(tools, before.tools)
    const hasMilestones = [...rules.values()].some(({ view }) => view.milestones !== null)
    return { rules, tools: isOld ? before.tools : tools, hasMilestones }
  }
}

function viewOf({ value, version }: Entry): TaskTypeView {
  const stored: Omit<Stored, 'milestones'> & Partial<Pick<Stored, 'milestones'>> = JSON.parse(value)
  // Types that were registered by an older version have none.
  return { ...stored, milestones: stored.milestones ?? null, version }
}

function isSame(draft: TaskTypeDraft, { version: _, created_at, updated_at, ...before }: TaskTypeView) {
  return JSON.stringify(draft) === JSON.stringify(before)
}

function isTool({ enabled, tool }: TaskTypeView): boolean {
  return enabled && tool !== null
}

/** Views live as long as their rules do. */
function isSameList(views: readonly TaskTypeView[], others: readonly TaskTypeView[]): boolean {
  return views.length === others.length && views.every((view, i) => view === others[i])
}
