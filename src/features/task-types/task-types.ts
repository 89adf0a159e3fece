import { Fault, invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import { Collection, type Item, TenantRegistry } from '../collection.ts'
import type { Schemas } from './schemas.ts'
import { type TaskTypeDraft, type TaskTypeView, toolName } from './shape.ts'

/** What create_task returns about the type: the usual run time, and when to check the status. */
interface Guidance {
  readonly estimated_runtime_seconds?: number
  readonly poll_suggestion_seconds?: number
}

/** The payload of a requested task. */
export interface GivenPayload {
  readonly value: Json
  readonly text: CanonicalJson
  /** The request that it belongs to, if that request creates many tasks. */
  readonly request?: object | undefined
}

/** A registered type, as it applies to the creation of tasks. */
export class TaskTypeRule {
  readonly view: TaskTypeView
  readonly guidance: Guidance
  /** The source text: an entry with the same text needs no new rule. */
  readonly text: string
  readonly #schema: CanonicalJson | undefined

  constructor(text: string, view: TaskTypeView) {
    const { estimated_runtime_seconds, poll_suggestion_seconds, payload_schema } = view
    this.text = text
    this.view = view
    this.guidance = {
      ...(estimated_runtime_seconds !== null && { estimated_runtime_seconds }),
      ...(poll_suggestion_seconds !== null && { poll_suggestion_seconds }),
    }
    this.#schema = payload_schema === null ? undefined : canonical(payload_schema)
  }

  /** Why a task with this payload is refused; undefined if it is accepted. A payload stored elsewhere is undefined. */
  async refusal(schemas: Schemas, payload: GivenPayload | undefined): Promise<Fault | undefined> {
    const { type, enabled, max_payload_bytes } = this.view
    if (!enabled) return new Fault('TASK_TYPE_DISABLED', { type })
    if (payload === undefined) return undefined
    if (max_payload_bytes !== null && Buffer.byteLength(payload.text) > max_payload_bytes) {
      return new Fault('PAYLOAD_TOO_LARGE', { path: 'payload', limit_bytes: max_payload_bytes })
    }
    if (this.#schema === undefined) return undefined
    return schemas.payloadFault(this.#schema, { ...payload, name: 'payload' })
  }
}

/** Limit per tenant: all types of a tenant are in memory. */
const MAX_TASK_TYPES = 1000

/** The types of a tenant. */
export interface TypeTable {
  readonly rules: ReadonlyMap<string, TaskTypeRule>
  /** Enabled types that are tools. The list is the same object until it changes. */
  readonly tools: readonly TaskTypeView[]
  /** Whether any type has milestones. */
  readonly hasMilestones: boolean
}

/** The stored form. The version is that of the entry. */
type Stored = Omit<TaskTypeView, 'version'>

/** The registered task types: stored, and in memory so that creating a task reads nothing. */
export class TaskTypes extends TenantRegistry<TypeTable> {
  readonly #types = new Collection(this.engine, 'task_type', storedOf)

  /** The listener is called when the tools of a tenant have changed. Returns an unsubscribe function. */
  onTools(listener: (tenant: number) => void): () => void {
    return this.onReplaced((tenant, after, before) => {
      if (after.tools !== before.tools) listener(tenant)
    })
  }

  async get(tenant: number, type: string): Promise<TaskTypeView | undefined> {
    const item = await this.#types.get(tenant, type)
    return item && viewOf(item)
  }

  /** Types after the name `after`, sorted by name. */
  async list(tenant: number, after: string, limit: number): Promise<TaskTypeView[]> {
    return (await this.#types.page(tenant, after, limit)).map(viewOf)
  }

  /** Creates or replaces a type. Registering the same again changes nothing. */
  async register(tenant: number, draft: TaskTypeDraft): Promise<TaskTypeView> {
    for (;;) {
      const before = await this.get(tenant, draft.type)
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
    const { rules } = await this.refresh(tenant)
    if (isNew && rules.size >= MAX_TASK_TYPES) {
      throw invalid('type', `cannot be added: limit of ${MAX_TASK_TYPES} reached`)
    }
    if (draft.tool === null) return
    for (const { view } of rules.values()) {
      if (view.tool === null || view.type === draft.type || toolName(view) !== toolName(draft)) continue
      throw invalid('tool.name', `is already the tool of type ${view.type}`)
    }
  }

  protected async read(tenant: number, before: TypeTable | undefined): Promise<TypeTable> {
    const rules = new Map<string, TaskTypeRule>()
    for (const item of await this.#types.all(tenant)) {
      const text = `${item.version} ${item.text}`
      const known = before?.rules.get(item.name)
      rules.set(item.name, known?.text === text ? known : new TaskTypeRule(text, viewOf(item)))
    }
    const tools = [...rules.values()].map((rule) => rule.view).filter(isTool)
    const isOld = before !== undefined && isSameList(tools, before.tools)
    const hasMilestones = [...rules.values()].some(({ view }) => view.milestones !== null)
    return { rules, tools: isOld ? before.tools : tools, hasMilestones }
  }
}

/** Types registered by earlier versions have no milestones. */
function storedOf(text: string): Stored {
  const stored: Omit<Stored, 'milestones'> & Partial<Stored> = JSON.parse(text)
  return { ...stored, milestones: stored.milestones ?? null }
}

function viewOf({ value, version }: Item<Stored>): TaskTypeView {
  return { ...value, version }
}

function isSame(draft: TaskTypeDraft, { version: _, created_at, updated_at, ...before }: TaskTypeView) {
  return JSON.stringify(draft) === JSON.stringify(before)
}

function isTool({ enabled, tool }: TaskTypeView): boolean {
  return enabled && tool !== null
}

/** Views are compared by identity: an unchanged rule keeps its view. */
function isSameList(views: readonly TaskTypeView[], others: readonly TaskTypeView[]): boolean {
  return views.length === others.length && views.every((view, i) => view === others[i])
}
