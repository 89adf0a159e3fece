import { createHmac } from 'node:crypto'
import type { Command } from '../core/command.ts'
import { Fault } from '../core/errors.ts'
import { receiptId, receiptSeq } from '../core/ids.ts'
import { DEFAULT_SETTINGS, type Settings } from '../core/settings.ts'
import type { Entries } from '../store/entries.ts'
import { type Hint, type Store, StoreError, type TenantRef } from '../store/store.ts'
import { cryptoRandom, type Random } from '../util/random.ts'
import { Batch } from './batch.ts'
import { CommitQueue, type QueueAnswer } from './commit-queue.ts'
import { type Confirmation, submitConfirmed } from './confirmation.ts'
import { Cursors } from './cursor.ts'
import { Events } from './events.ts'
import { Directory } from './lane-directory.ts'
import { Relay } from './relay.ts'
import { Sweeps } from './sweeps.ts'
import { Wakeups } from './wakeups.ts'

export interface EngineOptions {
  readonly store: Store
  readonly settings?: Partial<Settings>
  readonly random?: Random
  /** Receives every failure that callers see only as an error code. */
  readonly onError?: (error: unknown) => void
}

export type RefusalListener = (command: Command, fault: Fault) => void

/** The runtime around the core: it batches commands into commits, wakes waiting callers and sweeps due tasks. */
export class Engine {
  readonly store: Store
  readonly settings: Settings
  readonly events: Events
  readonly directory = new Directory()
  readonly wakeups: Wakeups
  readonly sweeps: Sweeps
  readonly cursors: Cursors
  readonly relay: Relay
  readonly startedAt = Date.now()
  readonly random: Random
  readonly #report: (error: unknown) => void
  readonly #queue: CommitQueue
  readonly #refusalListeners: RefusalListener[] = []
  readonly #tenants = new Map<string, TenantRef>()
  #settingsOf: (tenant: number) => Settings
  #confirmation: Confirmation | undefined

  constructor(options: EngineOptions) {
    this.store = options.store
    this.settings = { ...DEFAULT_SETTINGS, ...options.settings }
    this.#settingsOf = () => this.settings
    this.random = options.random ?? cryptoRandom()
    this.#report = options.onError ?? (() => {})
    this.events = new Events(this.#report)
    this.cursors = new Cursors(() => this.store.secret())
    this.relay = new Relay(this)
    this.sweeps = new Sweeps(this)
    this.wakeups = new Wakeups(this)
    this.#queue = new CommitQueue({
      store: this.store,
      limits: { commands: this.settings.max_pending_commands, bytes: this.settings.max_pending_bytes },
      accepted: (command) => {
        if (command.verb === 'create') this.wakeups.expected(command)
      },
      isContended: (tenant) => this.directory.of(tenant).isContended,
      batch: (commands, wakes) => this.#batch(commands, wakes),
      committed: (batch, events, ms) => {
        this.wakeups.committed(batch, events)
        this.relay.committed(events)
        this.events.emit(events)
        this.#settle(batch)
        this.events.committed(() => ({
          commands: batch.commands.length,
          ms,
          receipts: batch.receipts(),
          usage: batch.usage(),
        }))
      },
      refused: (command, fault) => {
        for (const listener of this.#refusalListeners) listener(command, fault)
      },
      report: this.#report,
    })
    this.store.listen((hint) => this.#heard(hint))
  }

  submit<C extends Command>(command: C): Promise<QueueAnswer<C>> {
    return this.#queue.submit(command)
  }

  /** Submits a command of a caller. It is answered once another system has confirmed the change, if one must. */
  submitConfirmed<C extends Command>(command: C): Promise<QueueAnswer<C>> {
    const confirmation = this.#confirmation
    if (confirmation === undefined) return this.submit(command)
    const answer = submitConfirmed(confirmation, command, (submitted) => this.submit(submitted))
    // A confirmation changes no answer but that of a claim, to one of the same type.
    return answer as Promise<QueueAnswer<C>>
  }

  /** From now on changes that callers submit are confirmed. */
  useConfirmation(confirmation: Confirmation): void {
    this.#confirmation = confirmation
  }

  /** The settings of the server with the quotas of a tenant. */
  settingsOf(tenant: number): Settings {
    return this.#settingsOf(tenant)
  }

  /** Sets the source of the settings of tenants. It must not wait: batches are decided with them. */
  useSettings(settingsOf: (tenant: number) => Settings): void {
    this.#settingsOf = settingsOf
  }

  /** The tenant, if it was requested before. */
  knownTenant(name: string): TenantRef | undefined {
    return this.#tenants.get(name)
  }

  /** The listener is called for every command that the core refuses. */
  onRefused(listener: RefusalListener): void {
    this.#refusalListeners.push(listener)
  }

  /** A secret of this database for one purpose, the same in all processes. */
  async secretFor(purpose: string): Promise<Buffer> {
    const secret = await this.reading(() => this.store.secret())
    return createHmac('sha256', secret).update(purpose).digest()
  }

  async tenant(name: string): Promise<TenantRef> {
    const known = this.#tenants.get(name)
    if (known !== undefined) return known
    const tenant = await this.reading(() => this.store.tenant(name))
    this.#tenants.set(name, tenant)
    return tenant
  }

  /** The tenants that were requested since the start. */
  get knownTenants(): readonly TenantRef[] {
    return [...this.#tenants.values()]
  }

  /** Reads from the store. An outage rejects with the same error as for a command. */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#report(error)
      throw new Fault('DATABASE_UNAVAILABLE')
    }
  }

  /** Writes an entry. An outage rejects with the same error as for a command. */
  async writing<T>(write: (entries: Entries) => Promise<T>): Promise<T> {
    try {
      return await write(this.store.entries)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#report(error)
      // Over a connection the write may have happened before the connection broke.
      const isUnknown = this.store.shared || error.reason === 'unknown'
      throw new Fault(isUnknown ? 'OUTCOME_UNKNOWN' : 'DATABASE_UNAVAILABLE')
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

  /** A random number in [0, 1), for jitter. */
  unit(): number {
    return this.random.unit()
  }

  /** Stops the sweeps and lets waiting calls return. Commands are still accepted. */
  async quiesce(): Promise<void> {
    await this.sweeps.stop()
    this.wakeups.stop()
    this.relay.stop()
  }

  /** Resolves when every submitted command is committed or refused. */
  drained(): Promise<void> {
    return this.#queue.drained()
  }

  #batch(commands: readonly Command[], wakes: boolean): Batch {
    return new Batch(commands, {
      wakes,
      settings: this.settings,
      settingsOf: this.#settingsOf,
      random: this.random,
      directory: this.directory,
      report: this.#report,
    })
  }

  /** Follows the links of tasks that have ended. A sweep does it if this process ends first. */
  #settle(batch: Batch): void {
    for (const { tenant, task_id } of batch.unsettled()) {
      this.submit({ verb: 'wake', tenant, task_id }).catch((error) => this.#report(error))
    }
  }

  #heard(hint: Hint): void {
    this.wakeups.heard(hint)
    this.relay.heard(hint)
  }
}
