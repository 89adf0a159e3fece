import type { TreeHead } from '../../core/merkle/checkpoint.ts'
import type { LeafRun } from '../../core/merkle/leaf.ts'
import { GrowingTree, sizeOfTree, TILE_WIDTH, type Tile } from '../../core/merkle/tiles.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { StoredCheckpoint } from '../../store/ledger-log.ts'
import { type Store, StoreError, type TenantRef } from '../../store/store.ts'
import { messageOf } from '../../util/error-message.ts'
import type { Archive } from '../retention/archive.ts'
import { LeafReader } from './leaf-reader.ts'
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

export interface VerifyOptions {
  /** Checkpoints that were stored elsewhere. */
  readonly kept?: readonly string[] | undefined
  /** Compare only receipts with checkpoints, not the stored tree, which follows from the receipts. */
  readonly ignoreTree?: boolean
}

/** Computes the log of a tenant again from its receipts, and compares it with the stored tree and with every checkpoint. */
export async function verifyLedger(
  deps: Deps,
  tenant: TenantRef,
  { kept = [], ignoreTree = false }: VerifyOptions = {},
): Promise<LedgerReport> {
  const run = new Verification(deps, tenant, ignoreTree)
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
  readonly #reader: LeafReader
  readonly #ignoreTree: boolean
  /** Signed heads that the tree has not reached, smallest first. */
  #ahead: TreeHead[] = []
  #signed = 0
  #checkpoints = 0
  /** The first receipt whose stored hash differs from the computed one. */
  #suspect: number | undefined

  constructor(deps: Deps, tenant: TenantRef, ignoreTree: boolean) {
    const { ledgerLog: log } = deps.store
    this.#deps = deps
    this.#tenant = tenant
    this.#ignoreTree = ignoreTree
    this.#leaves = new StoredLeaves(log, tenant.tenant)
    this.#reader = new LeafReader({ log, archive: deps.archive }, tenant)
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
    for (let run = await this.#next(); run !== undefined; run = await this.#next()) {
      await this.#add(run, end)
      await this.#compareTiles(end)
    }
    const missing = Math.max(last, this.#ahead.at(-1)?.size ?? 0)
    const { size } = this.#tree
    if (missing > size) {
      throw new Mismatch(
        this.#suspect ?? size + 1,
        `The receipts from ${size + 1} to ${missing} are missing.`,
      )
    }
    if (!this.#ignoreTree) await this.#compareSize(end)
  }

  /** The stored tree must have nothing else than what was compared. */
  async #compareSize(end: number): Promise<void> {
    const { ledgerLog } = this.#deps.store
    const { tiles, bytes } = await ledgerLog.treeSize(this.#tenant.tenant)
    const expected = sizeOfTree(end)
    if (tiles === expected.tiles && bytes === expected.bytes) return
    // A server that runs may have stored more, together with another checkpoint.
    const latest = await ledgerLog.latest(this.#tenant.tenant)
    if (latest !== undefined && latest.size > end) return
    throw new Mismatch(
      end + 1,
      'The stored tree has more than the last checkpoint covers: it was changed, or a checkpoint is missing.',
    )
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

  /** The next leaves. If one of several rows cannot be read, those before it are returned first. */
  async #next(): Promise<LeafRun | undefined> {
    let failure: unknown
    // The first of the rows may be the one with the receipt that was read last.
    for (const rows of [ROWS, 2, 1]) {
      try {
        const run = await this.#reader.next(this.#tree.size, rows)
        if (run !== undefined || failure === undefined) return run
      } catch (error) {
        if (error instanceof StoreError) throw error
        failure = error
      }
    }
    throw this.#unreadable(failure)
  }

  /** Appends leaves, and stops at each size of which there is a checkpoint. */
  async #add({ first, hashes }: LeafRun, end: number): Promise<void> {
    const expected = this.#tree.size + 1
    if (first !== expected) {
      throw new Mismatch(
        this.#suspect ?? expected,
        first > expected ? `Receipt ${expected} is missing.` : `Receipt ${first} occurs twice.`,
      )
    }
    await this.#compareLeaves(hashes, end)
    for (let at = 0; at < hashes.length; ) {
      const wanted = ((this.#ahead[0]?.size ?? Number.POSITIVE_INFINITY) - this.#tree.size) * HASH_BYTES
      const part = hashes.subarray(at, at + Math.min(wanted, hashes.length - at))
      this.#tree.append(part)
      at += part.length
      if (part.length === wanted) await this.#reached()
    }
  }

  async #compareLeaves(hashes: Buffer, end: number): Promise<void> {
    if (this.#ignoreTree || this.#suspect !== undefined) return
    const { size } = this.#tree
    const signed = hashes.subarray(0, Math.max(0, end - size) * HASH_BYTES)
    const index = await this.#leaves.firstDifference(size, signed)
    if (index !== undefined) this.#suspect = index + 1
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
    const above = this.#tree.takeFull().filter(({ level }) => level > 0)
    await this.#compare(above.filter((tile) => firstSeq(tile) + TILE_WIDTH ** (tile.level + 1) - 1 <= end))
  }

  /** The stored tiles may have more hashes than the computed ones. */
  async #compare(computed: readonly Tile[]): Promise<void> {
    if (this.#ignoreTree || computed.length === 0) return
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
