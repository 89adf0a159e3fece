import { Fault, invalid } from '../../core/errors.ts'
import { type CanonicalJson, canonical, type Json } from '../../core/json/json.ts'
import { isoTime } from '../../core/time.ts'
import type { Engine } from '../../engine/engine.ts'
import { TenantCopies } from '../../engine/tenant-cache.ts'
import type { Entry } from '../../store/entries.ts'
import type { Schemas } from './schemas.ts'
import { type TaskTypeDraft, type TaskTypeView, toolName } from './shape.ts'

/** What create_task returns about the type: the usual run time, and when to check the status. */
interface Guidance {
  readonly estimated_runtime_seconds?: number
  readonly poll_suggestion_seconds?: number
}

/** The payload of a task that is to be created. */
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

const KIND = 'task_type'

/** Limit per tenant: all types of a tenant are in memory. */
const MAX_TASK_TYPES = 1000
const PAGE = 200

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
export class TaskTypes {
  readonly #engine: Engine
  readonly #copies: TenantCopies<TypeTable>
  readonly #listeners = new Set<(tenant: number) => void>()

  constructor(engine: Engine) {
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

  /** Undefined until loaded. */
  known(tenant: number): TypeTable | undefined {
    return this.#copies.known(tenant)
  }

  load(tenant: number): Promise<TypeTable> {
    return this.#engine.reading(() => this.#copies.load(tenant))
  }

  /** The listener is called when the tools of a tenant have changed. Returns an unsubscribe function. */
  onTools(listener: (tenant: number) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async get(tenant: number, type: string): Promise<TaskTypeView | undefined> {
    const entry = await this.#engine.reading(() => this.#engine.store.entries.get(tenant, KIND, type))
    return entry && viewOf(entry)
  }

  /** Types after the name `after`, sorted by name. */
  async list(tenant: number, after: string, limit: number): Promise<TaskTypeView[]> {
    const entries = await this.#engine.reading(() =>
      this.#engine.store.entries.list(tenant, KIND, after, limit),
    )
    return entries.map(viewOf)
  }

  /** Creates or replaces a type. Registering the same again changes nothing. */
  async register(tenant: number, draft: TaskTypeDraft): Promise<TaskTypeView> {
    for (;;) {
      const before = await this.get(tenant, draft.type)
      if (before !== undefined && isSame(draft, before)) return before
      await this.#checkConflicts(tenant, draft, before === undefined)
      const now = isoTime(Date.now())
      const stored: Stored = { ...draft, created_at: before?.created_at ?? now, updated_at: now }
      const entry = { tenant, kind: KIND, name: draft.type, value: JSON.stringify(stored), due_at: null }
      const version = await this.#engine.writing((entries) => entries.put(entry, before?.version ?? 0))
      await this.#reload(tenant)
      if (version !== undefined) return { ...stored, version }
    }
  }

  /** Resolves with whether the type was registered. */
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

  async #checkConflicts(tenant: number, draft: TaskTypeDraft, isNew: boolean): Promise<void> {
    const { rules } = await this.#reload(tenant)
    if (isNew && rules.size >= MAX_TASK_TYPES) {
      throw invalid('type', `cannot be added: limit of ${MAX_TASK_TYPES} reached`)
    }
    if (draft.tool === null) return
    for (const { view } of rules.values()) {
      if (view.tool === null || view.type === draft.type || toolName(view) !== toolName(draft)) continue
      throw invalid('tool.name', `is already the tool of type ${view.type}`)
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
  // Types registered by earlier versions have no milestones.
  return { ...stored, milestones: stored.milestones ?? null, version }
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
