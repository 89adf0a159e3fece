import { TILE_BYTES, TILE_WIDTH } from '../../core/merkle/tiles.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'

/** Compares computed leaves with the stored ones, in order. */
export class StoredLeaves {
  readonly #log: Pick<LedgerLog, 'tiles'>
  readonly #tenant: number
  /** The stored tiles that were read last, by their numbers. */
  #tiles: ReadonlyMap<number, Buffer> = new Map()

  constructor(log: Pick<LedgerLog, 'tiles'>, tenant: number) {
    this.#log = log
    this.#tenant = tenant
  }

  /** The index of the first of these leaves that is not stored; undefined if all are. `start` is that of the first one. */
  async firstDifference(start: number, hashes: Buffer): Promise<number | undefined> {
    const end = start + hashes.length / HASH_BYTES
    await this.#read(start, end)
    for (let index = start; index < end; ) {
      const next = Math.min(end, (Math.floor(index / TILE_WIDTH) + 1) * TILE_WIDTH)
      const computed = hashes.subarray((index - start) * HASH_BYTES, (next - start) * HASH_BYTES)
      const at = (index * HASH_BYTES) % TILE_BYTES
      const stored = this.#tiles.get(Math.floor(index / TILE_WIDTH))?.subarray(at, at + computed.length)
      if (stored === undefined || !stored.equals(computed)) return index + sameHashes(stored, computed)
      index = next
    }
    return undefined
  }

  async #read(start: number, end: number): Promise<void> {
    const first = Math.floor(start / TILE_WIDTH)
    const count = Math.max(0, Math.ceil(end / TILE_WIDTH) - first)
    const numbers = Array.from({ length: count }, (_, i) => first + i)
    const missing = numbers.filter((n) => !this.#tiles.has(n)).map((n) => ({ level: 0, n }))
    const read = await this.#log.tiles(this.#tenant, missing)
    const known = new Map([...this.#tiles, ...read.map(({ n, hashes }) => [n, hashes] as const)])
    this.#tiles = new Map([...known].filter(([n]) => n >= first))
  }
}

/** How many hashes at the beginning are the same. */
function sameHashes(stored: Buffer | undefined, computed: Buffer): number {
  let at = 0
  const end = (place: number) => place + HASH_BYTES
  while (stored?.subarray(at, end(at)).equals(computed.subarray(at, end(at)))) at = end(at)
  return at / HASH_BYTES
}
