import type { CallToolResult } from '@modelcontextprotocol/client'
import { Fault, invalid } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { PrincipalKey } from '../core/principal.ts'
import type { EgressSettings } from '../egress/settings.ts'
import type { UpstreamRegistry, UpstreamTool } from '../gate/upstreams.ts'
import type {
  UpstreamDetail,
  UpstreamDraft,
  UpstreamRecord,
  UpstreamToolView,
  UpstreamView,
} from '../gate/upstreams-shape.ts'
import { connect } from './connect.ts'
import type { CallOptions } from './connection.ts'
import { type Environment, mayRefer } from './credentials.ts'
import { PinBook } from './pin-book.ts'
import { type KeptRecord, RegistryCopy, type UpstreamStorage } from './registry-copy.ts'
import { type HoldsSecret, secretFinder } from './secrets.ts'
import { type Logger, Upstream } from './upstream.ts'
import { mayBeAt } from './upstream-egress.ts'
import { detailOf, viewOf } from './upstream-view.ts'

export interface UpstreamsOptions {
  readonly storage: UpstreamStorage
  /** From the operator's file. They cannot be changed by API. */
  readonly fixed?: readonly UpstreamRecord[]
  readonly egress?: Partial<EgressSettings>
  /** What upstreams added by API may refer to: `env:NAME`, `file:/path`, `file:/folder/`. */
  readonly credentials?: readonly string[]
  /** Where variables are looked up; those of this process if absent. */
  readonly env?: Environment
  readonly logger: Logger
  /** Keys that no agent may see: an answer with one in it is refused. */
  readonly secrets?: readonly string[]
  /** How upstreams are connected to, if not as usual. */
  readonly connect?: typeof connect
}

/** All of them are in memory, and connected. */
const MAX_UPSTREAMS = 100
/** How often a write is tried that somebody else came before. */
const TRIES = 20

/** The MCP servers behind a gate, and their tools. */
export class Upstreams implements UpstreamRegistry {
  readonly tenant: number
  readonly #options: UpstreamsOptions
  readonly #fixed: ReadonlyMap<string, UpstreamRecord>
  readonly #copy: RegistryCopy
  readonly #pins: PinBook
  readonly #running = new Map<string, Upstream>()
  readonly #stopping = new Set<Promise<void>>()
  readonly #listeners = new Set<() => void>()
  readonly #holdsSecret: HoldsSecret
  #tools: readonly UpstreamTool[] = []
  #byName: ReadonlyMap<string, UpstreamTool> = new Map()
  #isOpen = false

  constructor(options: UpstreamsOptions) {
    this.#options = options
    this.tenant = options.storage.tenant
    this.#holdsSecret = secretFinder(options.secrets ?? [])
    this.#fixed = new Map((options.fixed ?? []).map((record) => [record.name, record]))
    this.#copy = new RegistryCopy(
      options.storage,
      () => this.#follow(),
      (error) => options.logger.warn({ err: error }, 'the registry of upstreams could not be read'),
    )
    this.#pins = new PinBook(this.#copy)
  }

  /** Reads the registry and begins to connect. Waits for no upstream. */
  async start(): Promise<void> {
    await this.#copy.refresh()
    this.#isOpen = true
    this.#follow()
  }

  /** Resolves when each upstream was tried once. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map((upstream) => upstream.settled))
  }

  /** Ends all connections; calls under way fail. */
  async close(): Promise<void> {
    this.#isOpen = false
    await this.#copy.stop()
    for (const name of [...this.#running.keys()]) this.#stop(name)
    await Promise.all(this.#stopping)
  }

  list(): readonly UpstreamView[] {
    const all = [...this.#running.values()].sort((a, b) => (a.record.name < b.record.name ? -1 : 1))
    return all.map((upstream) => viewOf(upstream, this.#keptOf(upstream.record.name)))
  }

  get(name: string): UpstreamDetail | undefined {
    const upstream = this.#running.get(name)
    return upstream && detailOf(upstream, this.#keptOf(name))
  }

  async add(draft: UpstreamDraft, by: PrincipalKey): Promise<UpstreamView> {
    this.#checkNotFixed(draft.name)
    this.#checkPlace(draft)
    for (let tries = 0; tries < TRIES; tries++) {
      const before = (await this.#copy.refresh()).records.get(draft.name)
      if (before === undefined) this.#checkRoom()
      const isSame = before !== undefined && JSON.stringify(before.record) === JSON.stringify(draft)
      const kept = { record: draft, updated_at: Date.now(), updated_by: by }
      if (!isSame && !(await this.#copy.putRecord(kept, before?.version ?? 0))) continue
      if (!isSame) await this.#copy.refresh()
      const upstream = this.#running.get(draft.name)
      // It may be gone again.
      if (upstream !== undefined) return viewOf(upstream, this.#keptOf(draft.name))
    }
    throw new Fault('OVERLOADED')
  }

  /** `add` replaces what is there. */
  update(draft: UpstreamDraft, by: PrincipalKey): Promise<UpstreamView> {
    return this.add(draft, by)
  }

  async remove(name: string): Promise<boolean> {
    this.#checkNotFixed(name)
    const removed = await this.#copy.removeRecord(name)
    await this.#copy.refresh()
    // It may just have been noting what it has seen.
    await Promise.all(this.#stopping)
    await this.#copy.removePins(name)
    return removed
  }

  async accept(name: string, tool: string, hash: string, by: PrincipalKey): Promise<UpstreamToolView> {
    const upstream = this.#find(name)
    await this.#pins.accept(name, tool, hash, by)
    this.#options.logger.info({ upstream: name, tool, hash, by }, 'the definition of a tool was accepted')
    const entry = upstream.catalogue.get(tool)
    if (entry === undefined) throw new Fault('UPSTREAM_TOOL_NOT_FOUND', { upstream: name, tool })
    return entry.view
  }

  tools(): readonly UpstreamTool[] {
    return this.#tools
  }

  find(name: string): UpstreamTool | undefined {
    return this.#byName.get(name)
  }

  offered(name: string, tool: string): UpstreamTool {
    return this.#find(name).offered(tool)
  }

  onTools(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls a tool by its own name. Rejects with a Fault, or at once with the reason of the signal. */
  async call(
    name: string,
    tool: string,
    args: JsonObject,
    options: CallOptions = {},
  ): Promise<CallToolResult> {
    return this.#find(name).call(tool, args, options)
  }

  #find(name: string): Upstream {
    const upstream = this.#running.get(name)
    if (upstream === undefined) throw new Fault('UPSTREAM_NOT_FOUND', { name })
    return upstream
  }

  /** Undefined for one of the operator's file. */
  #keptOf(name: string): KeptRecord | undefined {
    return this.#fixed.has(name) ? undefined : this.#copy.now.records.get(name)
  }

  #checkNotFixed(name: string): void {
    if (this.#fixed.has(name)) throw invalid('name', "is that of an upstream of the operator's file")
  }

  #checkRoom(): void {
    if (this.#running.size >= MAX_UPSTREAMS) {
      throw invalid('name', `is one too many: there are ${MAX_UPSTREAMS} already, so remove one first`)
    }
  }

  /** What the operator lets admins add. */
  #checkPlace({ transport }: UpstreamDraft): void {
    const { egress = {}, credentials = [] } = this.#options
    if (!mayBeAt(transport.url, egress)) {
      throw invalid(
        'transport.url',
        'leads where no upstream may be: use https and a public host, or have the operator name the place in ASYNCGATE_UPSTREAM_PRIVATE',
      )
    }
    for (const [header, reference] of Object.entries(transport.headers)) {
      if (mayRefer(reference, credentials)) continue
      throw invalid(
        `transport.headers.${header}`,
        'refers to what may not be used here; the operator names it in ASYNCGATE_UPSTREAM_CREDENTIALS',
      )
    }
  }

  /** Starts and stops upstreams as the registry says by now. */
  #follow(): void {
    if (!this.#isOpen) return
    const added = [...this.#copy.now.records.values()].map(({ record }) => record)
    const wanted = new Map<string, UpstreamRecord>(added.map((record) => [record.name, record]))
    for (const [name, record] of this.#fixed) wanted.set(name, record)
    for (const [name, { record }] of [...this.#running]) {
      const now = wanted.get(name)
      if (now === undefined || JSON.stringify(now) !== JSON.stringify(record)) this.#stop(name)
      else this.#running.get(name)?.review()
    }
    for (const [name, record] of wanted) if (!this.#running.has(name)) this.#begin(record)
    this.#gather()
  }

  #begin(record: UpstreamRecord): void {
    const { egress = {}, env = process.env, logger } = this.#options
    const open = this.#options.connect ?? connect
    const upstream = new Upstream({
      record,
      connect: async (signal) => {
        const kept = this.#keptOf(record.name)
        if (kept !== undefined) this.#checkPlace(kept.record)
        return open(record, { egress, env }, signal)
      },
      pin: (list) => this.#pins.see(record, list),
      pins: () => this.#pins.of(record.name),
      changed: () => this.#gather(),
      logger,
      holdsSecret: this.#holdsSecret,
    })
    this.#running.set(record.name, upstream)
    upstream.start()
  }

  #stop(name: string): void {
    const upstream = this.#running.get(name)
    if (upstream === undefined) return
    this.#running.delete(name)
    const stopped = upstream.stop().finally(() => this.#stopping.delete(stopped))
    this.#stopping.add(stopped)
  }

  /** The list stays the same one, unless it says something else. */
  #gather(): void {
    const listed = [...this.#running.values()].flatMap(({ catalogue }) =>
      [...catalogue.values()].flatMap((entry) => entry.listed?.tool ?? []),
    )
    const tools = listed.sort((a, b) => (a.name < b.name ? -1 : 1))
    if (signature(tools) === signature(this.#tools)) return
    this.#tools = tools
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]))
    for (const listener of this.#listeners) listener()
  }
}

/** What is shown of a tool follows from its definition, which the hash stands for, and its category. */
function signature(tools: readonly UpstreamTool[]): string {
  return tools.map(({ name, hash, category }) => `${name} ${hash} ${category ?? ''}`).join('\n')
}
