import { invalid } from '../../core/errors.ts'
import { canonical } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { Collection, type Item, TenantRegistry } from '../collection.ts'
import type { Publications, PublicationTable } from '../workers/publications.ts'
import { publishedRules } from './published-rules.ts'
import { type TaskTypeDraft, type TaskTypeView, toolName } from './shape.ts'
import { TaskTypeRule } from './task-type-rule.ts'
import { optionsOf, type TypeOptions } from './type-options.ts'

/** Limit per tenant: all types of a tenant are in memory. */
const MAX_TASK_TYPES = 1000

/** The types of a tenant. */
export interface TypeTable {
  /** The registered types, then those that only workers publish. */
  readonly rules: ReadonlyMap<string, TaskTypeRule>
  readonly registered: ReadonlyMap<string, TaskTypeRule>
  readonly registeredTools: readonly TaskTypeView[]
  readonly publications: PublicationTable
  readonly published: ReadonlyMap<string, TaskTypeRule>
  /** Enabled types that are tools. The list is the same object until it changes. */
  readonly tools: readonly TaskTypeView[]
  /** Whether any type has milestones. */
  readonly hasMilestones: boolean
}

/** The stored form. The version is that of the entry. */
type Stored = Omit<TaskTypeView, 'version'>

/** The registered and the published task types: stored, and in memory so that creating a task reads nothing. */
export class TaskTypes extends TenantRegistry<TypeTable> {
  readonly #types = new Collection(this.engine, 'task_type', storedOf)
  readonly #publications: Publications

  constructor(engine: Engine, publications: Publications) {
    super(engine)
    this.#publications = publications
    publications.onChange(async (tenant) => {
      if (this.known(tenant) !== undefined) await this.refresh(tenant)
    })
  }

  /** The listener is called when the tools of a tenant have changed. Returns an unsubscribe function. */
  onTools(listener: (tenant: number) => void): () => void {
    return this.onReplaced((tenant, after, before) => {
      if (after.tools !== before.tools) listener(tenant)
    })
  }

  /** The registration of a type. */
  async #get(tenant: number, type: string): Promise<TaskTypeView | undefined> {
    const item = await this.#types.get(tenant, type)
    return item && viewOf(item)
  }

  /** Creates or replaces a type. Registering the same again changes nothing. */
  async register(tenant: number, draft: TaskTypeDraft): Promise<TaskTypeView> {
    for (;;) {
      const before = await this.#get(tenant, draft.type)
      if (before !== undefined && isSame(draft, before)) return before
      await this.#checkConflicts(tenant, draft, before === undefined)
      const now = isoTime(Date.now())
      const stored: Stored = { ...draft, created_at: before?.created_at ?? now, updated_at: now }
      const item = await this.#types.put(tenant, draft.type, stored, before?.version ?? 0)
      await this.refresh(tenant)
      if (item !== undefined) return viewOf(item)
    }
  }

  /** Resolves with whether the type was registered. */
  async remove(tenant: number, type: string): Promise<boolean> {
    const removed = await this.#types.remove(tenant, type)
    await this.refresh(tenant)
    return removed
  }

  async #checkConflicts(tenant: number, draft: TaskTypeDraft, isNew: boolean): Promise<void> {
    const { registered } = await this.refresh(tenant)
    if (isNew && registered.size >= MAX_TASK_TYPES) {
      throw invalid('type', `cannot be added: limit of ${MAX_TASK_TYPES} reached`)
    }
    if (draft.tool === null) return
    for (const { view } of registered.values()) {
      if (view.tool === null || view.type === draft.type || toolName(view) !== toolName(draft)) continue
      throw invalid('tool.name', `is already the tool of type ${view.type}`)
    }
  }

  protected async read(tenant: number, before: TypeTable | undefined): Promise<TypeTable> {
    const items = await this.#types.all(tenant)
    const publications = await this.#publications.read(tenant, before?.publications)
    const views = items.map((item) => {
      const known = before?.registered.get(item.name)
      return known?.view.version === item.version ? known.view : viewOf(item)
    })
    const registeredTools = views.filter(isTool)
    const published = this.#published(publications, registeredTools, before)
    const registered = new Map<string, TaskTypeRule>()
    for (const view of views) {
      const known = before?.registered.get(view.type)
      registered.set(view.type, registeredRule(view, published.get(view.type), known))
    }
    const others = [...published].filter(([type]) => !registered.has(type))
    const tools = [...registeredTools, ...others.map(([, { view }]) => view).filter(isTool)]
    return {
      rules: new Map([...registered, ...others]),
      registered,
      registeredTools,
      publications,
      published,
      tools: before !== undefined && isSameList(tools, before.tools) ? before.tools : tools,
      hasMilestones: [...registered.values()].some(({ view }) => view.milestones !== null),
    }
  }

  /** The published types, with tool names that differ from those of registered types. */
  #published(
    publications: PublicationTable,
    registeredTools: readonly TaskTypeView[],
    before: TypeTable | undefined,
  ): ReadonlyMap<string, TaskTypeRule> {
    if (before?.publications === publications && isSameList(registeredTools, before.registeredTools)) {
      return before.published
    }
    const naming = {
      enabled: this.engine.settings.type_tools === 'published',
      taken: new Set(registeredTools.map(toolName)),
    }
    return publishedRules(publications, naming, before?.published ?? new Map<string, TaskTypeRule>())
  }
}

/** Unchanged rules stay the same object. */
function registeredRule(
  view: TaskTypeView,
  published: TaskTypeRule | undefined,
  known: TaskTypeRule | undefined,
): TaskTypeRule {
  const options = published && optionsOf(published.view)
  const text = `${view.version} ${canonical([options ?? null, view])}`
  return known?.text === text ? known : new TaskTypeRule(text, view, 'registered', [], options)
}

/** Types registered by earlier versions lack these members. */
type Added = 'milestones' | 'output_schema' | 'escalation_class' | 'webhook_url' | keyof TypeOptions

function storedOf(text: string): Stored {
  const stored: Omit<Stored, Added> & Partial<Stored> = JSON.parse(text)
  const { milestones = null, output_schema = null, escalation_class = null, webhook_url = null } = stored
  return { ...stored, ...optionsOf(stored), milestones, output_schema, escalation_class, webhook_url }
}

function viewOf({ value, version }: Item<Stored>): TaskTypeView {
  return { ...value, version }
}

function isSame(draft: TaskTypeDraft, { version: _, created_at, updated_at, ...before }: TaskTypeView) {
  return canonical(draft) === canonical(before)
}

function isTool({ enabled, tool }: TaskTypeView): boolean {
  return enabled && tool !== null
}

/** Views are compared by identity: an unchanged rule keeps its view. */
function isSameList(views: readonly TaskTypeView[], others: readonly TaskTypeView[]): boolean {
  return views.length === others.length && views.every((view, i) => view === others[i])
}
