import { TILE_WIDTH } from '../../core/merkle/tiles.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'

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

  /** Reads the hashes of the leaves from `start` up to `end`, and lets go of all others. */
  async read(start: number, end: number): Promise<void> {
    const first = Math.floor(start / TILE_WIDTH)
    const count = Math.ceil(end / TILE_WIDTH) - first
    const keys = Array.from({ length: Math.max(0, count) }, (_, i) => ({ level: 0, n: first + i }))
    const known = new Map(this.#tiles.map((hashes, i) => [this.#first + i, hashes]))
    const missing = keys.filter(({ n }) => !known.has(n))
    for (const { n, hashes } of await this.#log.tiles(this.#tenant, missing)) known.set(n, hashes)
    this.#first = first
    this.#tiles = keys.map(({ n }) => known.get(n) ?? NO_HASH)
  }

  /** The hash of a leaf that was read; empty if it is not stored. */
  at(index: number): Buffer {
    const tile = this.#tiles[Math.floor(index / TILE_WIDTH) - this.#first] ?? NO_HASH
    const place = (index % TILE_WIDTH) * HASH_BYTES
    return tile.subarray(place, place + HASH_BYTES)
  }
}
