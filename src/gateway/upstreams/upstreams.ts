import { Fault, invalid } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json/json.ts'
import type { PrincipalKey } from '../../core/principal.ts'
import type { EgressSettings } from '../../egress/settings.ts'
import { NO_OFFERS, type UpstreamOffers } from '../../features/upstreams/reads.ts'
import type { UpstreamDraft, UpstreamRecord } from '../../features/upstreams/shape.ts'
import type {
  Completed,
  Completing,
  UpstreamDetail,
  UpstreamRegistry,
  UpstreamTool,
  UpstreamToolView,
  UpstreamView,
} from '../../features/upstreams/upstreams.ts'
import type { Answer } from '../calls/read-answers.ts'
import { mayBeAt } from '../transports/http-fetch.ts'
import type { CallOptions } from './call-options.ts'
import { connect } from './connect.ts'
import { type Environment, type HoldsSecret, mayRefer, secretFinder } from './credentials.ts'
import type { InputRequired } from './elicitation.ts'
import { joined } from './offers.ts'
import { RegistryCopy, type StoredRecord, swapped, type UpstreamStorage } from './registry-copy.ts'
import { SessionConnections } from './session-connections.ts'
import { SEPARATOR } from './tool-name.ts'
import { Traffic } from './traffic.ts'
import { type Logger, Upstream, type UpstreamDeps } from './upstream.ts'
import { detailOf, viewOf } from './upstream-view.ts'

export interface UpstreamsOptions {
  readonly storage: UpstreamStorage
  /** From the operator's file. They cannot be changed by API. */
  readonly fixed?: readonly UpstreamRecord[]
  readonly egress?: Partial<EgressSettings>
  /** The references that upstreams added by API may use: `env:NAME`, `file:/path`, `file:/folder/`. */
  readonly credentials?: readonly string[]
  /** The environment of this process by default. */
  readonly env?: Environment
  readonly logger: Logger
  /** Receives each line that the program of an upstream writes to stderr. */
  readonly onStderr?: ((upstream: string, line: string) => void) | undefined
  /** Secrets that no agent may see: a response that contains one is refused. */
  readonly secrets?: readonly string[]
  /** Whether this server can have more upstreams, of any tenant. It can by default. */
  readonly hasRoom?: () => boolean
  /** Replaces `connect` in tests. */
  readonly connect?: typeof connect
}

const MAX_UPSTREAMS = 100

type ListDeps = Pick<UpstreamDeps, 'changed' | 'offersChanged' | 'sessions'>

/** The upstream MCP servers of a tenant and their tools. */
export class Upstreams implements UpstreamRegistry {
  readonly tenant: number
  readonly #options: UpstreamsOptions
  readonly #fixed: ReadonlyMap<string, UpstreamRecord>
  readonly #copy: RegistryCopy
  readonly #running = new Map<string, Upstream>()
  /** The connections of upstreams that isolate sessions. */
  readonly #isolated = new Map<string, SessionConnections>()
  readonly #stopping = new Set<Promise<void>>()
  readonly #listeners = new Set<() => void>()
  readonly #holdsSecret: HoldsSecret
  #tools: readonly UpstreamTool[] = []
  #byName: ReadonlyMap<string, UpstreamTool> = new Map()
  readonly #offerListeners = new Set<(kind: 'prompts' | 'resources') => void>()
  #offers = NO_OFFERS
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
  }

  /** Reads the registry and starts to connect, without waiting for any upstream. */
  async start(): Promise<void> {
    await this.#copy.refresh()
    this.#isOpen = true
    this.#follow()
  }

  /** Resolves when the first attempt of each upstream, or of the named one, has ended. */
  async settled(name?: string): Promise<void> {
    const all = [...this.#running.values()].filter(({ record }) => record.name === (name ?? record.name))
    await Promise.all(all.map((upstream) => upstream.settled))
  }

  /** Closes all connections; running calls fail. */
  async close(): Promise<void> {
    this.#isOpen = false
    await this.#copy.stop()
    for (const name of [...this.#running.keys()]) this.#stop(name)
    await Promise.all(this.#stopping)
  }

  get size(): number {
    return this.#running.size
  }

  list(): readonly UpstreamView[] {
    const all = [...this.#running.values()].sort((a, b) => (a.record.name < b.record.name ? -1 : 1))
    return all.map((upstream) => viewOf(upstream, this.#storedOf(upstream.record.name)))
  }

  get(name: string): UpstreamDetail | undefined {
    const upstream = this.#running.get(name)
    return upstream && detailOf(upstream, this.#storedOf(name))
  }

  async add(draft: UpstreamDraft, by: PrincipalKey): Promise<UpstreamView> {
    this.#checkNotFixed(draft.name)
    this.#checkTransport(draft)
    return swapped(async () => {
      const before = (await this.#copy.refresh()).records.get(draft.name)
      if (before === undefined) this.#checkRoom()
      const isSame = before !== undefined && JSON.stringify(before.record) === JSON.stringify(draft)
      const stored = { record: draft, updated_at: Date.now(), updated_by: by }
      if (!isSame && !(await this.#copy.putRecord(stored, before?.version ?? 0))) return undefined
      if (!isSame) await this.#copy.refresh()
      // Another server may have removed it again.
      const upstream = this.#running.get(draft.name)
      return upstream && viewOf(upstream, this.#storedOf(draft.name))
    })
  }

  async remove(name: string): Promise<boolean> {
    this.#checkNotFixed(name)
    const removed = await this.#copy.removeRecord(name)
    await this.#copy.refresh()
    // An upstream that is stopping may still be storing pins.
    await Promise.all(this.#stopping)
    await this.#copy.removePins(name)
    return removed
  }

  async accept(name: string, tool: string, hash: string, by: PrincipalKey): Promise<UpstreamToolView> {
    const upstream = this.#find(name)
    await this.#copy.accept(name, tool, hash, by)
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

  absence(name: string): Fault | undefined {
    const [upstream = ''] = name.split(SEPARATOR, 1)
    return this.#running.get(upstream)?.absence(name)
  }

  offered(name: string, tool: string): UpstreamTool {
    return this.#find(name).offered(tool)
  }

  onTools(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  offers(): UpstreamOffers {
    return this.#offers
  }

  onOffers(listener: (kind: 'prompts' | 'resources') => void): () => void {
    this.#offerListeners.add(listener)
    return () => this.#offerListeners.delete(listener)
  }

  async complete(name: string, asked: Completing, signal?: AbortSignal): Promise<Completed> {
    return this.#find(name).complete(asked, signal)
  }

  /** Calls a tool by its name at the upstream. Rejects with a Fault or the reason of the signal. */
  async call(
    name: string,
    tool: string,
    args: JsonObject,
    options: CallOptions = {},
  ): Promise<Answer | InputRequired> {
    const upstream = this.#find(name)
    const { session } = options
    const isolated = session && this.#isolated.get(name)
    return isolated ? isolated.call(session, tool, args, options) : upstream.call(tool, args, options)
  }

  /** Closes the connections of a session that has ended. */
  endSession(sessionId: string): void {
    for (const isolated of this.#isolated.values()) isolated.end(sessionId)
  }

  /** Whether a call that may have reached its tool may be repeated. */
  mayRepeat(name: string, tool: string): boolean {
    return this.#running.get(name)?.mayRepeat(tool) ?? false
  }

  /** The timeout of calls; undefined if there is no such upstream. */
  timeoutMs(name: string): number | undefined {
    return this.#running.get(name)?.record.timeout_ms
  }

  #find(name: string): Upstream {
    const upstream = this.#running.get(name)
    if (upstream === undefined) throw new Fault('UPSTREAM_NOT_FOUND', { name })
    return upstream
  }

  /** Undefined for an upstream of the operator's file. */
  #storedOf(name: string): StoredRecord | undefined {
    return this.#fixed.has(name) ? undefined : this.#copy.now.records.get(name)
  }

  #checkNotFixed(name: string): void {
    if (this.#fixed.has(name)) throw invalid('name', "belongs to an upstream of the operator's file")
  }

  #checkRoom(): void {
    if (this.#running.size >= MAX_UPSTREAMS) {
      throw invalid('name', `exceeds the limit of ${MAX_UPSTREAMS} upstreams; remove one first`)
    }
    if (this.#options.hasRoom?.() === false) {
      throw invalid('name', 'exceeds the number of upstreams that this server can have; ask its operator')
    }
  }

  /** Checks what the operator allows admins to add. */
  #checkTransport({ transport }: UpstreamDraft): void {
    const { egress = {}, credentials = [] } = this.#options
    if (!mayBeAt(transport.url, egress)) {
      throw invalid(
        'transport.url',
        'is not an allowed address: use https and a public host, or have the operator list the host in ASYNCGATE_UPSTREAM_PRIVATE',
      )
    }
    for (const [header, reference] of Object.entries(transport.headers)) {
      if (mayRefer(reference, credentials)) continue
      throw invalid(
        `transport.headers.${header}`,
        'is not an allowed reference; the operator allows references in ASYNCGATE_UPSTREAM_CREDENTIALS',
      )
    }
  }

  /** Starts and stops upstreams after the registry has changed. */
  #follow(): void {
    if (!this.#isOpen) return
    const added = [...this.#copy.now.records.values()].map(({ record }) => record)
    const wanted = new Map<string, UpstreamRecord>(added.map((record) => [record.name, record]))
    for (const [name, record] of this.#fixed) wanted.set(name, record)
    for (const [name, { record }] of [...this.#running]) {
      const now = wanted.get(name)
      if (now === undefined || JSON.stringify(now) !== JSON.stringify(record)) this.#stop(name)
      else {
        this.#running.get(name)?.review()
        this.#isolated.get(name)?.review()
      }
    }
    for (const [name, record] of wanted) if (!this.#running.has(name)) this.#begin(record)
    this.#gather()
    this.#gatherOffers()
  }

  #begin(record: UpstreamRecord): void {
    const { name, isolation } = record
    const traffic = new Traffic()
    const isolated =
      isolation === 'per_session'
        ? new SessionConnections({ record, open: () => this.#upstream(record, traffic) })
        : undefined
    if (isolated !== undefined) this.#isolated.set(name, isolated)
    const upstream = this.#upstream(record, traffic, {
      changed: () => this.#gather(),
      offersChanged: () => this.#gatherOffers(),
      ...(isolated && { sessions: () => isolated.totals }),
    })
    this.#running.set(name, upstream)
    upstream.start()
  }

  /** Creates an upstream without starting it. The connection of a session does not publish its lists. */
  #upstream(
    record: UpstreamRecord,
    traffic: Traffic,
    { changed = () => {}, offersChanged = () => {}, sessions }: Partial<ListDeps> = {},
  ): Upstream {
    const { egress = {}, env = process.env, logger, onStderr, secrets } = this.#options
    const heard = onStderr && ((line: string) => onStderr(record.name, line))
    const open = this.#options.connect ?? connect
    return new Upstream({
      record,
      connect: async (signal) => {
        const stored = this.#storedOf(record.name)
        if (stored !== undefined) this.#checkTransport(stored.record)
        return open(record, { egress, env, onStderr: heard, secrets }, signal)
      },
      pin: async (list) => void (await this.#copy.see(record, list)),
      pins: () => this.#copy.pinsOf(record.name),
      changed,
      offersChanged,
      logger,
      traffic,
      ...(sessions && { sessions }),
      holdsSecret: this.#holdsSecret,
    })
  }

  #stop(name: string): void {
    const upstream = this.#running.get(name)
    if (upstream === undefined) return
    const isolated = this.#isolated.get(name)
    this.#running.delete(name)
    this.#isolated.delete(name)
    const all = Promise.all([upstream.stop(), isolated?.stop()])
    const stopped: Promise<void> = all.then(() => {}).finally(() => this.#stopping.delete(stopped))
    this.#stopping.add(stopped)
  }

  /** Keeps the same list object until its content changes. */
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

  #gatherOffers(): void {
    const before = this.#offers
    const running = [...this.#running]
    const now = joined(
      running.map(([name]) => name),
      running.map(([, { offers }]) => offers),
    )
    const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
    const prompts = !isSame(now.prompts, before.prompts)
    const resources = !isSame([now.resources, now.templates], [before.resources, before.templates])
    const isSameElse = isSame([now.upstreams, now.having], [before.upstreams, before.having])
    if (!prompts && !resources && isSameElse) return
    this.#offers = now
    for (const listener of this.#offerListeners) {
      if (prompts) listener('prompts')
      if (resources) listener('resources')
    }
  }
}

/** The hash and the category determine everything that is shown of a tool. */
function signature(tools: readonly UpstreamTool[]): string {
  return tools.map(({ name, hash, category }) => `${name} ${hash} ${category ?? ''}`).join('\n')
}
