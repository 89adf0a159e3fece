import type { AuditRows } from '../../src/store/audit.ts'
import type { Entries, Logs } from '../../src/store/entries.ts'
import type { Erasure } from '../../src/store/erasure.ts'
import type { FlowReads } from '../../src/store/flow.ts'
import type { HistoryRows } from '../../src/store/history.ts'
import type { LedgerLog } from '../../src/store/ledger-log.ts'
import type { OutboxRows } from '../../src/store/outbox.ts'
import type { Reads } from '../../src/store/reads.ts'
import type { Retention } from '../../src/store/retention.ts'
import {
  type Changes,
  type Committed,
  type Hint,
  type Loaded,
  type Need,
  type Store,
  StoreError,
  type TaskRef,
  type TenantRef,
} from '../../src/store/store.ts'
import type { UsageRows } from '../../src/store/usage.ts'
import { type Dice, turns } from './dice.ts'

/** The probability of each fault of a commit. */
export interface CommitFaults {
  readonly before: number
  readonly after: number
  readonly delay: number
}

export const NO_FAULTS: CommitFaults = { before: 0, after: 0, delay: 0 }

/** The database refuses a create with such a key, like a value that it cannot store. */
export const POISON = 'poison'

/** The connection of one gate to the shared store. It can fail and be slow. */
export class FaultyStore implements Store {
  readonly batchSize: Store['batchSize']
  readonly shared: boolean
  readonly reads: Reads
  readonly entries: Entries
  readonly logs: Logs
  readonly audit: AuditRows
  readonly erasure: Erasure
  readonly retention: Retention
  readonly flow: FlowReads
  readonly usage: UsageRows
  readonly history: HistoryRows
  readonly outbox: OutboxRows
  readonly ledgerLog: LedgerLog
  commits = 0
  readonly #inner: Store
  readonly #dice: Dice
  readonly #faults: CommitFaults
  #isDead = false

  constructor(inner: Store, dice: Dice, faults: CommitFaults) {
    this.#inner = inner
    this.#dice = dice
    this.#faults = faults
    this.batchSize = inner.batchSize
    this.shared = inner.shared
    this.reads = inner.reads
    this.entries = inner.entries
    this.logs = inner.logs
    this.audit = inner.audit
    this.erasure = inner.erasure
    this.retention = inner.retention
    this.flow = inner.flow
    this.usage = inner.usage
    this.history = inner.history
    this.outbox = inner.outbox
    this.ledgerLog = inner.ledgerLog
  }

  /** Kills the gate's process: its unsent commits never arrive, and it receives no responses. */
  die(): void {
    this.#isDead = true
  }

  async commit(need: Need, decide: (loaded: Loaded) => Changes | Need): Promise<Committed> {
    this.commits++
    const { before, after, delay } = this.#faults
    const breaksBefore = this.#dice.chance(before)
    const breaksAfter = this.#dice.chance(after)
    if (this.#dice.chance(delay)) await turns(1 + this.#dice.below(6))
    if (breaksBefore || this.#isDead) throw new StoreError('unavailable', 'broken before the commit')
    if (need.keys.some((key) => key.idempotency_key.startsWith(POISON))) {
      throw new StoreError('refused', 'a value that the database refuses')
    }
    const committed = await this.#inner.commit(need, decide)
    if (this.#dice.chance(delay)) await turns(1 + this.#dice.below(6))
    if (breaksAfter || this.#isDead) throw new StoreError('unknown', 'broken after the commit')
    return committed
  }

  async due(limit: number): Promise<TaskRef[]> {
    if (this.#isDead || this.#dice.chance(this.#faults.before)) {
      throw new StoreError('unavailable', 'broken')
    }
    return this.#inner.due(limit)
  }

  tenants(): Promise<TenantRef[]> {
    return this.#inner.tenants()
  }

  nextWake(tenant: number): Promise<number | null> {
    return this.#inner.nextWake(tenant)
  }

  tenant(name: string): Promise<TenantRef> {
    return this.#inner.tenant(name)
  }

  listen(onHint: (hint: Hint) => void): void {
    this.#inner.listen(onHint)
  }

  follow(): Promise<void> {
    return this.#inner.follow()
  }

  secret(): Promise<Buffer> {
    return this.#inner.secret()
  }

  now(): Promise<number> {
    return this.#inner.now()
  }

  ping(): Promise<void> {
    return this.#inner.ping()
  }

  /** The store outlives its gates. */
  async close(): Promise<void> {}
}
