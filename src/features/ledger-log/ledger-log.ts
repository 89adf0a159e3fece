import {
  headIn,
  inclusionProofText,
  originOf,
  signCheckpoint,
  verifierKey,
} from '../../core/merkle/checkpoint.ts'
import { leafText } from '../../core/merkle/leaf.ts'
import { readLogKeys } from '../../core/merkle/log-key.ts'
import { rootOf, tilesFor, tilesIn } from '../../core/merkle/tiles.ts'
import { consistencyRanges, EMPTY_ROOT, inclusionRanges, type Range } from '../../core/merkle/tree.ts'
import type { Engine } from '../../engine/engine.ts'
import type { StoredCheckpoint } from '../../store/ledger-log.ts'
import type { TenantRef } from '../../store/store.ts'
import { hourOf } from '../../store/usage.ts'
import type { Archive } from '../retention/archive.ts'
import { type GrowFrom, type GrowTree, type Growth, growTree } from './growth.ts'
import { LogKeys } from './log-keys.ts'

/** New receipts from which on the thread is used. Fewer take less time than it needs to start. */
const THREAD_FROM = 1_000

const DEFAULT_NAME = 'asyncgate'

const EMPTY: GrowFrom = { size: 0, root: EMPTY_ROOT }

export interface LedgerLogOptions {
  /** The name of this installation in the names of its logs. */
  readonly name?: string
  /** The private keys that sign, newest first, as PEM text. Without it they are in the database. */
  readonly signingKey?: string | undefined
  /** How often checkpoints are made in the background; 0 if only when one is needed. */
  readonly checkpointSeconds?: number
  /** Hashes receipts in another thread. */
  readonly thread?: GrowTree | undefined
}

interface LogEntry {
  readonly leaf: string
  readonly body: string | null
  readonly salt: string | null
}

/** The log of each tenant: a Merkle tree over its receipts, and signed checkpoints of it. */
export class LedgerLogs {
  readonly keys: LogKeys
  readonly #engine: Engine
  readonly #archive: Archive
  readonly #thread: GrowTree | undefined
  readonly #name: string
  /** By tenant. */
  readonly #extending = new Map<number, Promise<StoredCheckpoint | undefined>>()

  constructor(
    engine: Engine,
    archive: Archive,
    { name = DEFAULT_NAME, signingKey, thread }: LedgerLogOptions = {},
  ) {
    this.#engine = engine
    this.#archive = archive
    this.#thread = thread
    this.#name = name
    this.keys = new LogKeys(engine, signingKey === undefined ? [] : (readLogKeys(signingKey) ?? []))
  }

  origin(tenant: string): string {
    return originOf(this.#name, tenant)
  }

  /** The public keys that checkpoints of a tenant are verified with, newest first. */
  async verifierKeys(tenant: string): Promise<string[]> {
    return (await this.keys.published()).map((key) => verifierKey(this.origin(tenant), key))
  }

  latest(tenant: TenantRef): Promise<StoredCheckpoint | undefined> {
    return this.#engine.store.ledgerLog.latest(tenant.tenant)
  }

  /** Makes a checkpoint of all receipts that are committed now. Resolves with the latest one; undefined if there are none. */
  async extend(tenant: TenantRef): Promise<StoredCheckpoint | undefined> {
    // A run that has begun may have read past the receipts that this caller needs.
    await this.#extending.get(tenant.tenant)?.catch(() => {})
    const known = this.#extending.get(tenant.tenant)
    if (known !== undefined) return known
    const running = this.#extend(tenant).finally(() => this.#extending.delete(tenant.tenant))
    this.#extending.set(tenant.tenant, running)
    return running
  }

  /** A checkpoint of at least `size` receipts if there are so many; it is signed but not stored if there are none. */
  async checkpoint(tenant: TenantRef, size: number): Promise<StoredCheckpoint> {
    const latest = await this.latest(tenant)
    if (latest !== undefined && latest.size >= size) return latest
    return (await this.extend(tenant)) ?? (await this.#sign(tenant, 0, EMPTY_ROOT))
  }

  /** The proof that a receipt is in the log, as a tlog-proof; undefined if there is no such receipt. */
  async inclusionProof(tenant: TenantRef, seq: number): Promise<string | undefined> {
    const { size, note } = await this.checkpoint(tenant, seq)
    if (size < seq) return undefined
    const path = await this.#roots(tenant, inclusionRanges(seq - 1, size))
    return inclusionProofText(seq - 1, path, note)
  }

  /** The logged text of a receipt, and what its commitment is made of, as far as it is not erased. */
  async entry(tenant: TenantRef, seq: number): Promise<LogEntry | undefined> {
    const stored = await this.#engine.store.ledgerLog.receipt(tenant.tenant, seq)
    const committed = stored ?? (await this.#archive.committedFrom(tenant.tenant, seq))[0]
    if (committed === undefined) return undefined
    const { receipt, salt = null } = committed
    return { leaf: leafText(tenant, committed), body: salt === null ? null : receipt.body, salt }
  }

  /** The hashes that prove that the log of `size` receipts begins with that of `from`, which is not larger. */
  consistencyProof(tenant: TenantRef, from: number, size: number): Promise<Buffer[]> {
    return from === 0 ? Promise.resolve([]) : this.#roots(tenant, consistencyRanges(from, size))
  }

  async #roots({ tenant }: TenantRef, ranges: readonly Range[]): Promise<Buffer[]> {
    const find = tilesIn(await this.#engine.store.ledgerLog.tiles(tenant, tilesFor(ranges)))
    return ranges.map((range) => rootOf(range, find))
  }

  async #extend(tenant: TenantRef): Promise<StoredCheckpoint | undefined> {
    const { ledgerLog } = this.#engine.store
    let latest = await this.latest(tenant)
    for (;;) {
      const growth = await this.#grow(tenant, latest === undefined ? EMPTY : headIn(latest.note))
      if (growth === undefined) return latest
      const tiles = growth.tiles.map((tile) => ({ ...tile, hashes: Buffer.from(tile.hashes) }))
      latest = await this.#sign(tenant, growth.size, Buffer.from(growth.root))
      await ledgerLog.append(tenant.tenant, tiles, latest, hourOf(latest.created_at))
    }
  }

  /** If the thread cannot do it, this one does, or says why not. */
  async #grow(tenant: TenantRef, from: GrowFrom): Promise<Growth | undefined> {
    const { ledgerLog: log, reads } = this.#engine.store
    const here = () => growTree({ log, archive: this.#archive }, tenant, from)
    if (this.#thread === undefined) return here()
    const { seq } = await reads.counters(tenant.tenant)
    return seq - from.size < THREAD_FROM ? here() : this.#thread(tenant, from).catch(here)
  }

  async #sign({ name }: TenantRef, size: number, root: Buffer): Promise<StoredCheckpoint> {
    const { signers } = await this.keys.load()
    const created_at = await this.#engine.store.now()
    return { size, created_at, note: signCheckpoint(this.origin(name), { size, root }, signers) }
  }
}
