import type { CommittedReceipt } from '../core/merkle/leaf.ts'
import type { Tile, TileKey } from '../core/merkle/tiles.ts'

/** A signed checkpoint of the log of a tenant. */
export interface StoredCheckpoint {
  /** The number of receipts that it covers: those with seqs from 1 to `size`. */
  readonly size: number
  /** Milliseconds since the epoch on the store's clock. */
  readonly created_at: number
  /** The signed note. */
  readonly note: string
}

/** The Merkle tree over the receipts of a tenant, written behind the commits and without the lock of the tenant. */
export interface LedgerLog {
  /**
   * Receipts with a seq above `after`, in the order of their rows: those of at most `limit` rows. Commits of a tenant do
   * not overlap, so a receipt is never seen before the ones with lower seqs.
   */
  receipts(tenant: number, after: number, limit: number): Promise<CommittedReceipt[]>
  receipt(tenant: number, seq: number): Promise<CommittedReceipt | undefined>
  /** In no particular order; absent ones are left out. */
  tiles(tenant: number, keys: readonly TileKey[]): Promise<Tile[]>
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
