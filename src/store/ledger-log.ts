import type { CommittedReceipt, LeafRun, LeafTenant } from '../core/merkle/leaf.ts'
import type { Tile, TileKey } from '../core/merkle/tiles.ts'

/** The tenant of a log. */
export interface LogTenant extends LeafTenant {
  readonly tenant: number
}

/** A signed checkpoint of the log of a tenant. */
export interface StoredCheckpoint {
  /** The number of receipts that it covers: those with seqs from 1 to `size`. */
  readonly size: number
  /** Milliseconds since the epoch on the store's clock. */
  readonly created_at: number
  /** The signed note. */
  readonly note: string
}

/** How a tile is repaired. */
export interface TileRepair extends TileKey {
  /** What is stored; undefined if there is no such tile. */
  readonly before: Buffer | undefined
  /** What it is replaced by; undefined if there must be no such tile. */
  readonly after: Buffer | undefined
}

/** The Merkle tree over the receipts of a tenant, written behind the commits and without the lock of the tenant. */
export interface LedgerLog {
  /**
   * The hashes of the leaves of receipts with a seq above `after`, in the order of their rows: one run for each of at most
   * `limit` rows. Commits of a tenant do not overlap, so a receipt is never seen before the ones with lower seqs.
   */
  leaves(tenant: LogTenant, after: number, limit: number): Promise<LeafRun[]>
  receipt(tenant: number, seq: number): Promise<CommittedReceipt | undefined>
  /** In no particular order; absent ones are left out. */
  tiles(tenant: number, keys: readonly TileKey[]): Promise<Tile[]>
  /** Tiles that follow `after` in the order of levels and numbers; from the first one if it is undefined. */
  listTiles(tenant: number, after: TileKey | undefined, limit: number): Promise<Tile[]>
  /** How many tiles there are, and how many bytes are in them. */
  treeSize(tenant: number): Promise<{ readonly tiles: number; readonly bytes: number }>
  /** Replaces tiles in one transaction. One that is no longer stored as in `before` stays. */
  repairTiles(tenant: number, repairs: readonly TileRepair[]): Promise<void>
  /** The checkpoint of the largest size. */
  latest(tenant: number): Promise<StoredCheckpoint | undefined>
  /** Checkpoints of a larger size than `after`, in ascending order. */
  checkpoints(tenant: number, after: number, limit: number): Promise<StoredCheckpoint[]>
  /**
   * Stores tiles and the checkpoint of them in one transaction, and removes smaller checkpoints that were made at
   * `replacing` or later. A tile replaces a shorter one. Nothing is written if there is a checkpoint of this size or a
   * larger one.
   */
  append(
    tenant: number,
    tiles: readonly Tile[],
    checkpoint: StoredCheckpoint,
    replacing: number,
  ): Promise<void>
}
