import type { TreeHead } from '../../core/merkle/checkpoint.ts'
import { type CommittedReceipt, leafText } from '../../core/merkle/leaf.ts'
import { GrowingTree, TILE_WIDTH, type Tile } from '../../core/merkle/tiles.ts'
import { HASH_BYTES, leafHash } from '../../core/merkle/tree.ts'
import type { StoredCheckpoint } from '../../store/ledger-log.ts'
import { type Store, StoreError, type TenantRef } from '../../store/store.ts'
import { messageOf } from '../../util/error-message.ts'
import type { Archive } from '../retention/archive.ts'
import { ReceiptReader } from './receipt-reader.ts'
import { StoredLeaves } from './stored-leaves.ts'

const ROWS = 32
const CHECKPOINTS = 500

interface Deps {
  readonly store: Pick<Store, 'ledgerLog' | 'reads'>
  readonly archive: Pick<Archive, 'committedFrom'>
  /** Reads a checkpoint and verifies its signature and its origin. */
  open(note: string): Promise<TreeHead>
}

export interface LedgerReport {
  /** How many receipts agree with what was signed, from the first one on. */
  readonly receipts: number
  /** How many of them a checkpoint covers. */
  readonly signed: number
  readonly checkpoints: number
  /** The first problem; undefined if there is none. */
  readonly problem?: LedgerProblem
}

export interface LedgerProblem {
  /** The first receipt that is concerned. */
  readonly seq: number
  readonly message: string
}

/** Ends a verification. */
class Mismatch extends Error {
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}

/**
 * Computes the log of a tenant again from its receipts, and compares it with the stored tree and with every checkpoint,
 * and with those in `kept`, which were stored elsewhere.
 */
export async function verifyLedger(
  deps: Deps,
  tenant: TenantRef,
  kept: readonly string[] = [],
): Promise<LedgerReport> {
  const run = new Verification(deps, tenant)
  try {
    await run.readAll(kept)
    return run.report()
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error
    return { ...run.report(), problem: { seq: error.seq, message: error.message } }
  }
}

class Verification {
  readonly #deps: Deps
  readonly #tenant: TenantRef
  readonly #tree = new GrowingTree()
  readonly #leaves: StoredLeaves
  readonly #receipts: ReceiptReader
  /** Signed heads that the tree has not reached, smallest first. */
  #ahead: TreeHead[] = []
  #signed = 0
  #checkpoints = 0
  /** The first receipt whose stored hash differs from the computed one. */
  #suspect: number | undefined

  constructor(deps: Deps, tenant: TenantRef) {
    this.#deps = deps
    this.#tenant = tenant
    this.#leaves = new StoredLeaves(deps.store.ledgerLog, tenant.tenant)
    this.#receipts = new ReceiptReader(deps.store.ledgerLog, deps.archive, tenant.tenant)
  }

  report(): LedgerReport {
    return {
      receipts: this.#suspect === undefined ? this.#tree.size : this.#suspect - 1,
      signed: this.#signed,
      checkpoints: this.#checkpoints,
    }
  }

  async readAll(kept: readonly string[]): Promise<void> {
    const { reads } = this.#deps.store
    const { seq: last } = await reads.counters(this.#tenant.tenant)
    await this.#openCheckpoints(kept)
    const end = this.#ahead.at(-1)?.size ?? 0
    await this.#reached()
    for (let isLast = false; !isLast; ) {
      const page = await this.#page()
      await this.#leaves.read(this.#tree.size, Math.min(end, this.#tree.size + page.length))
      for (const committed of page) {
        this.#add(committed, end)
        if (this.#ahead[0]?.size === this.#tree.size) await this.#reached()
      }
      await this.#compareTiles(end)
      isLast = page.length === 0
    }
    const missing = Math.max(last, this.#ahead.at(-1)?.size ?? 0)
    const { size } = this.#tree
    if (missing > size) {
      throw new Mismatch(
        this.#suspect ?? size + 1,
        `The receipts from ${size + 1} to ${missing} are missing.`,
      )
    }
  }

  async #openCheckpoints(kept: readonly string[]): Promise<void> {
    const heads: TreeHead[] = []
    for (const note of kept) heads.push(await this.#opened(note, 'A kept checkpoint'))
    for (let after = -1; ; ) {
      const page: StoredCheckpoint[] = await this.#deps.store.ledgerLog.checkpoints(
        this.#tenant.tenant,
        after,
        CHECKPOINTS,
      )
      for (const { size, note } of page) {
        const head = await this.#opened(note, `The checkpoint of ${size} receipts`)
        if (head.size !== size) throw new Mismatch(size, `The checkpoint of ${size} receipts is another one.`)
        heads.push(head)
      }
      after = page.at(-1)?.size ?? after
      if (page.length < CHECKPOINTS) break
    }
    this.#ahead = heads.sort((a, b) => a.size - b.size)
  }

  async #opened(note: string, what: string): Promise<TreeHead> {
    try {
      return await this.#deps.open(note)
    } catch (error) {
      throw new Mismatch(1, `${what} is not valid: ${messageOf(error)}`)
    }
  }

  /** The next receipts. If one of several rows cannot be read, those before it are returned first. */
  async #page(): Promise<readonly CommittedReceipt[]> {
    let failure: unknown
    // The first of the rows may be the one with the receipt that was read last.
    for (const rows of [ROWS, 2, 1]) {
      try {
        const page = await this.#receipts.next(this.#tree.size, rows)
        if (page.length > 0 || failure === undefined) return page
      } catch (error) {
        if (error instanceof StoreError) throw error
        failure = error
      }
    }
    throw this.#unreadable(failure)
  }

  #add(committed: CommittedReceipt, end: number): void {
    const expected = this.#tree.size + 1
    const { seq } = committed.receipt
    if (seq !== expected) {
      throw new Mismatch(
        this.#suspect ?? expected,
        seq > expected ? `Receipt ${expected} is missing.` : `Receipt ${seq} occurs twice.`,
      )
    }
    const leaf = this.#leafOf(committed)
    if (seq <= end && this.#suspect === undefined && !leaf.equals(this.#leaves.at(seq - 1))) {
      this.#suspect = seq
    }
    this.#tree.append(leaf)
  }

  #leafOf(committed: CommittedReceipt): Buffer {
    try {
      return leafHash(leafText(this.#tenant, committed))
    } catch (error) {
      throw this.#unreadable(error)
    }
  }

  #unreadable(error: unknown): Mismatch {
    const seq = this.#tree.size + 1
    return new Mismatch(this.#suspect ?? seq, `Receipt ${seq} cannot be read: ${messageOf(error)}`)
  }

  /** Compares the tree with the checkpoints of its current size. */
  async #reached(): Promise<void> {
    while (this.#ahead[0]?.size === this.#tree.size) {
      const [head] = this.#ahead.splice(0, 1)
      if (head === undefined || !head.root.equals(this.#tree.root())) throw this.#changed()
      this.#signed = head.size
      this.#checkpoints++
    }
    if (this.#suspect !== undefined) {
      throw new Mismatch(
        this.#suspect,
        `The stored hash of receipt ${this.#suspect} is wrong. The receipt itself is the one that was signed.`,
      )
    }
    if (this.#ahead.length === 0) await this.#compare(this.#tree.edge())
  }

  #changed(): Mismatch {
    const { size } = this.#tree
    if (this.#suspect !== undefined) {
      return new Mismatch(this.#suspect, `Receipt ${this.#suspect} is not the one that was signed.`)
    }
    const seq = this.#signed + 1
    return new Mismatch(seq, `The receipts from ${seq} to ${size} are not the ones that were signed.`)
  }

  /** Compares the full tiles above the leaves, and thereby lets go of all tiles. */
  async #compareTiles(end: number): Promise<void> {
    const computed = this.#tree
      .takeTiles()
      .filter(({ level, hashes }) => level > 0 && hashes.length === TILE_WIDTH * HASH_BYTES)
    await this.#compare(computed.filter((tile) => firstSeq(tile) + TILE_WIDTH ** (tile.level + 1) - 1 <= end))
  }

  /** The stored tiles may have more hashes than the computed ones. */
  async #compare(computed: readonly Tile[]): Promise<void> {
    const stored = await this.#deps.store.ledgerLog.tiles(this.#tenant.tenant, computed)
    for (const tile of computed) {
      const same = stored.find(({ level, n }) => level === tile.level && n === tile.n)
      const isSame = same?.hashes.subarray(0, tile.hashes.length).equals(tile.hashes) ?? false
      if (this.#suspect === undefined && !isSame) {
        throw new Mismatch(firstSeq(tile), `The stored tree is damaged from receipt ${firstSeq(tile)} on.`)
      }
    }
  }
}

function firstSeq({ level, n }: Tile): number {
  return n * TILE_WIDTH ** (level + 1) + 1
}
