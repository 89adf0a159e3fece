import type { Command } from '../core/command.ts'
import { Fault } from '../core/errors.ts'
import { type Draw, receiptId, receiptSeq } from '../core/ids.ts'
import { cryptoDraw } from '../core/random.ts'
import { DEFAULT_SETTINGS, type Settings } from '../core/settings.ts'
import { type Hint, type Store, StoreError, type TenantRef } from '../store/store.ts'
import { Batch } from './batch.ts'
import { BlockedTools } from './blocked-tools.ts'
import { Cancellations } from './cancellations.ts'
import { CommitQueue, type QueueAnswer } from './commit-queue.ts'
import { Cursors } from './cursor.ts'
import { Directory } from './directory.ts'
import { Events } from './events.ts'
import { Fetches } from './inbox-fetches.ts'
import { LeaseRefusals } from './lease-refusals.ts'
import { type Address, Links } from './links.ts'
import type { Mail } from './mail.ts'
import type { Memory } from './memory.ts'
import { Relay } from './relay.ts'
import type { ResultStore } from './results.ts'
import { ScheduleWatch } from './schedule-watch.ts'
import { Schemas } from './schemas.ts'
import { type PolicyOptions, StoredPolicies } from './stored-policies.ts'
import { Sweeps } from './sweeps.ts'
import { TaskTypes } from './task-types.ts'
import { ToolCallDesk } from './tool-call-desk.ts'
import { Uploads } from './uploads.ts'
import type { UpstreamRegistry } from './upstreams.ts'
import { Wakeups } from './wakeups.ts'
import { WorkerRegistry } from './worker-registry.ts'

export interface EngineOptions {
  readonly store: Store
  readonly settings?: Partial<Settings>
  /** Where results go that are too large for their task. Without it they are refused. */
  readonly results?: ResultStore | undefined
  /** Where this runs, as clients are told: development, staging, production. */
  readonly environment?: string
  /** Where people reach the server of this gate, for the links in its answers; undefined until that is known. */
  readonly address?: () => Address | undefined
  readonly draw?: Draw
  /** Without it the operations about mail are refused. */
  readonly mail?: Mail
  /** Where results can be promoted to. */
  readonly memory?: Memory | undefined
  /** Without it the operations about upstreams are refused. */
  readonly upstreams?: UpstreamRegistry
  /** What is done where no rule decides, and the rules that nobody can change here. */
  readonly policy?: PolicyOptions
  /** Told of every failure that callers only see as a code. */
  readonly onError?: (error: unknown) => void
}

/** What all verbs and reads of one gate share. */
export class Engine {
  readonly store: Store
  readonly settings: Settings
  readonly environment: string
  readonly results: ResultStore | undefined
  readonly events: Events
  readonly directory = new Directory()
  readonly wakeups: Wakeups
  readonly sweeps: Sweeps
  readonly uploads: Uploads
  readonly scheduleWatch: ScheduleWatch
  readonly cursors: Cursors
  readonly schemas = new Schemas()
  readonly taskTypes: TaskTypes
  readonly workers: WorkerRegistry
  readonly fetches: Fetches
  readonly cancellations: Cancellations
  readonly mail: Mail | undefined
  readonly memory: Memory | undefined
  readonly upstreams: UpstreamRegistry | undefined
  readonly policies: StoredPolicies
  readonly blockedTools: BlockedTools
  readonly toolCalls: ToolCallDesk
  readonly links: Links
  readonly startedAt = Date.now()
  readonly #draw: Draw
  readonly #report: (error: unknown) => void
  readonly #queue: CommitQueue
  readonly #refusals: LeaseRefusals
  readonly relay: Relay
  readonly #tenants = new Map<string, TenantRef>()

  constructor(options: EngineOptions) {
    this.store = options.store
    this.settings = { ...DEFAULT_SETTINGS, ...options.settings }
    this.environment = options.environment ?? 'development'
    this.results = options.results
    this.mail = options.mail
    this.memory = options.memory
    this.upstreams = options.upstreams
    this.links = new Links(options.address)
    this.#draw = options.draw ?? cryptoDraw()
    this.#report = options.onError ?? (() => {})
    this.events = new Events(this.#report)
    this.cursors = new Cursors(() => this.store.secret())
    this.relay = new Relay(this)
    this.wakeups = new Wakeups(this)
    this.sweeps = new Sweeps(this)
    this.uploads = new Uploads(this)
    this.scheduleWatch = new ScheduleWatch(this)
    this.taskTypes = new TaskTypes(this)
    this.policies = new StoredPolicies(this, options.policy)
    this.blockedTools = new BlockedTools(this)
    this.workers = new WorkerRegistry(this)
    this.fetches = new Fetches(this)
    this.cancellations = new Cancellations(this)
    this.toolCalls = new ToolCallDesk(this)
    this.#refusals = new LeaseRefusals(this)
    this.#queue = new CommitQueue({
      store: this.store,
      limits: { commands: this.settings.max_pending_commands, bytes: this.settings.max_pending_bytes },
      batch: (commands, wakes) => this.#batch(commands, wakes),
      committed: (batch, events, ms) => {
        this.wakeups.committed(batch, events)
        this.relay.committed(events)
        this.events.emit(events)
        this.events.committed(() => ({ commands: batch.commands.length, ms, receipts: batch.receipts() }))
      },
      refused: (command, fault) => {
        if ('lease_id' in command) this.cancellations.refused(command, fault)
        this.#refusals.refused(command, fault)
      },
      report: this.#report,
    })
    this.store.listen((hint) => this.#heard(hint))
  }

  submit<C extends Command>(command: C): Promise<QueueAnswer<C>> {
    return this.#queue.submit(command)
  }

  async tenant(name: string): Promise<TenantRef> {
    const known = this.#tenants.get(name)
    if (known !== undefined) return known
    const tenant = await this.reading(() => this.store.tenant(name))
    this.#tenants.set(name, tenant)
    return tenant
  }

  /** Those that were asked for since the start. */
  get knownTenants(): readonly TenantRef[] {
    return [...this.#tenants.values()]
  }

  /** Reads from the store, telling the caller of an outage as it would be told by a write. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#report(error)
      throw new Fault('DATABASE_UNAVAILABLE')
    }
  }

  /** The seq of a receipt of this tenant. */
  seqOf(tenant: TenantRef, id: string, otherwise: () => Fault): number {
    const seq = receiptSeq(tenant.salt, id)
    if (seq === undefined) throw otherwise()
    return seq
  }

  receiptId(tenant: TenantRef, seq: number): string {
    return receiptId(tenant.salt, seq)
  }

  report(error: unknown): void {
    this.#report(error)
  }

  unit(): number {
    return this.#draw.unit()
  }

  /** Stops the sweeps, lets waiting calls answer, and waits for commands under way. The store stays open. */
  async stop(): Promise<void> {
    await this.sweeps.stop()
    await this.uploads.stop()
    await this.scheduleWatch.stop()
    this.wakeups.stop()
    this.relay.stop()
    this.blockedTools.stop()
    await Promise.all([
      this.taskTypes.stop(),
      this.policies.stop(),
      this.workers.drains.stop(),
      this.schemas.close(),
    ])
    // Calls that waited for one of these go on now, and submit their commands.
    await new Promise((resolve) => setImmediate(resolve))
    await this.fetches.settled()
    await this.#queue.drained()
    await this.#refusals.settled()
    await this.cancellations.settled()
    await this.workers.stop()
  }

  #batch(commands: readonly Command[], wakes: boolean): Batch {
    return new Batch(commands, {
      wakes,
      settings: this.settings,
      draw: this.#draw,
      directory: this.directory,
      report: this.#report,
    })
  }

  #heard(hint: Hint): void {
    this.wakeups.heard(hint)
    this.relay.heard(hint)
  }
}
