import { TILE_WIDTH } from '../../core/merkle/tiles.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'

const TILES_PER_READ = 64
const NO_HASH = Buffer.alloc(0)

/** The stored hashes of the leaves of a log, read in order. */
export class StoredLeaves {
  readonly #log: Pick<LedgerLog, 'tiles'>
  readonly #tenant: number
  #first = 0
  #tiles: readonly Buffer[] = []

  constructor(log: Pick<LedgerLog, 'tiles'>, tenant: number) {
    this.#log = log
    this.#tenant = tenant
  }

  /** Empty if the hash of this leaf is not stored. */
  at(index: number): Buffer | Promise<Buffer> {
    const n = Math.floor(index / TILE_WIDTH)
    const isRead = n >= this.#first && n < this.#first + this.#tiles.length
    return isRead ? this.#find(index) : this.#read(n).then(() => this.#find(index))
  }

  #find(index: number): Buffer {
    const tile = this.#tiles[Math.floor(index / TILE_WIDTH) - this.#first] ?? NO_HASH
    const place = (index % TILE_WIDTH) * HASH_BYTES
    return tile.subarray(place, place + HASH_BYTES)
  }

  async #read(first: number): Promise<void> {
    const keys = Array.from({ length: TILES_PER_READ }, (_, i) => ({ level: 0, n: first + i }))
    const found = new Map((await this.#log.tiles(this.#tenant, keys)).map(({ n, hashes }) => [n, hashes]))
    this.#first = first
    this.#tiles = keys.map(({ n }) => found.get(n) ?? NO_HASH)
  }
}
