import { EMPTY_ROOT, foldedRoot, HASH_BYTES, nodeHash, type Range } from './tree.ts'

/** How many hashes a full tile has. Each is the root of a subtree of `TILE_WIDTH ** level` leaves. */
export const TILE_WIDTH = 64
export const TILE_BYTES = TILE_WIDTH * HASH_BYTES

export interface TileKey {
  readonly level: number
  /** Counts the tiles of a level from the left, from 0. */
  readonly n: number
}

/** A tile grows to the right until it is full. What it has does not change. */
export interface Tile extends TileKey {
  readonly hashes: Buffer
}

/** Finds a tile that has been read. */
export type FindTile = (key: TileKey) => Tile | undefined

/** Hashes of full subtrees inside one tile. */
interface Place extends TileKey {
  readonly first: number
  readonly count: number
}

export function tilesIn(tiles: Iterable<Tile>): FindTile {
  const found = new Map(Array.from(tiles, (tile) => [nameOf(tile), tile]))
  return (key) => found.get(nameOf(key))
}

/** The tiles that the roots of these subtrees are computed from, each once. */
export function tilesFor(ranges: readonly Range[]): TileKey[] {
  const keys = new Map<string, TileKey>()
  for (const { start, end } of ranges) {
    for (const part of fullParts(start, end)) keys.set(nameOf(part), { level: part.level, n: part.n })
  }
  return [...keys.values()]
}

/** The right edge of a tree: the tiles that are not full. They have all that is needed to append to it. */
export function edgeOf(size: number): TileKey[] {
  const keys: TileKey[] = []
  for (let [level, count] = [0, size]; count > 0; level++, count = Math.floor(count / TILE_WIDTH)) {
    if (count % TILE_WIDTH > 0) keys.push({ level, n: Math.floor(count / TILE_WIDTH) })
  }
  return keys
}

/** How many tiles a tree of `size` leaves has, and how many bytes are in them. */
export function sizeOfTree(size: number): { readonly tiles: number; readonly bytes: number } {
  let [tiles, bytes] = [0, 0]
  for (let count = size; count > 0; count = Math.floor(count / TILE_WIDTH)) {
    tiles += Math.ceil(count / TILE_WIDTH)
    bytes += count * HASH_BYTES
  }
  return { tiles, bytes }
}

/** Whether a tree of `size` leaves has such a tile. */
export function hasTile(size: number, { level, n }: TileKey): boolean {
  return level >= 0 && n >= 0 && n * TILE_WIDTH < Math.floor(size / TILE_WIDTH ** level)
}

/** The root of a subtree: of the leaves from `start`, which is a multiple of the next power of two, up to `end`. */
export function rootOf({ start, end }: Range, find: FindTile): Buffer {
  const parts = fullParts(start, end)
  const last = parts.pop()
  if (last === undefined) return EMPTY_ROOT
  return parts.reduceRight((right, part) => nodeHash(rootInTile(part, find), right), rootInTile(last, find))
}

/** The full subtrees that the leaves consist of, from the left. */
function fullParts(start: number, end: number): Place[] {
  const parts: Place[] = []
  for (let at = start; at < end; ) {
    const size = largestWithin(end - at)
    parts.push(placeOf(at, size))
    at += size
  }
  return parts
}

/** The largest power of two up to `count`. */
function largestWithin(count: number): number {
  let size = 1
  while (size * 2 <= count) size *= 2
  return size
}

function placeOf(start: number, size: number): Place {
  let [level, width] = [0, 1]
  while (width * TILE_WIDTH <= size) {
    level++
    width *= TILE_WIDTH
  }
  const index = start / width
  return { level, n: Math.floor(index / TILE_WIDTH), first: index % TILE_WIDTH, count: size / width }
}

function rootInTile(place: Place, find: FindTile): Buffer {
  const tile = find(place)
  const end = (place.first + place.count) * HASH_BYTES
  if (tile === undefined || tile.hashes.length < end) throw new MissingTile(place)
  return foldedRoot(tile.hashes.subarray(place.first * HASH_BYTES, end))
}

/** What was stored about a tree does not suffice for what was asked. */
export class MissingTile extends Error {
  constructor({ level, n }: TileKey) {
    super(`tile ${n} of level ${level} is missing or too short`)
    this.name = 'MissingTile'
  }
}

function nameOf({ level, n }: TileKey): string {
  return `${level}/${n}`
}

/** A tree that grows. It has its right edge, and the tiles that were filled since they were taken. */
export class GrowingTree {
  #size: number
  /** The tile at the right edge, by level. It has room for a full one. */
  readonly #edge: Buffer[] = []
  readonly #full: Tile[] = []

  /** Continues a tree of `size` leaves, of which `find` has the edge. */
  constructor(size = 0, find: FindTile = () => undefined) {
    this.#size = size
    for (const key of edgeOf(size)) {
      const stored = find(key)?.hashes ?? Buffer.alloc(0)
      const length = this.#lengthAt(key.level)
      if (stored.length < length) throw new MissingTile(key)
      stored.copy(this.#tileAt(key.level), 0, 0, length)
    }
  }

  get size(): number {
    return this.#size
  }

  /** Appends the hashes of leaves. */
  append(leaves: Buffer): void {
    for (let at = 0; at < leaves.length; ) {
      const start = this.#lengthAt(0)
      const copied = leaves.copy(this.#tileAt(0), start, at)
      at += copied
      this.#size += copied / HASH_BYTES
      if (start + copied === TILE_BYTES) this.#fill()
    }
  }

  root(): Buffer {
    return rootOf({ start: 0, end: this.#size }, tilesIn(this.edge()))
  }

  /** The tiles that were filled since the last call, and those at the edge. */
  takeTiles(): Tile[] {
    return [...this.takeFull(), ...this.edge()]
  }

  /** The tiles that were filled since the last call. */
  takeFull(): Tile[] {
    return this.#full.splice(0)
  }

  /** The tiles that are not full. */
  edge(): Tile[] {
    return edgeOf(this.#size).map(({ level, n }) => ({
      level,
      n,
      hashes: Buffer.from(this.#tileAt(level).subarray(0, this.#lengthAt(level))),
    }))
  }

  /** The last leaf has filled its tile, and perhaps tiles above it. */
  #fill(): void {
    for (let level = 0; ; level++) {
      const hashes = Buffer.from(this.#tileAt(level))
      const n = this.#size / TILE_WIDTH ** (level + 1) - 1
      this.#full.push({ level, n, hashes })
      const place = (n % TILE_WIDTH) * HASH_BYTES
      foldedRoot(hashes).copy(this.#tileAt(level + 1), place)
      if (place + HASH_BYTES < TILE_BYTES) return
    }
  }

  /** How many bytes of a level are at the edge. */
  #lengthAt(level: number): number {
    return (Math.floor(this.#size / TILE_WIDTH ** level) % TILE_WIDTH) * HASH_BYTES
  }

  #tileAt(level: number): Buffer {
    const known = this.#edge[level]
    if (known !== undefined) return known
    const tile = Buffer.alloc(TILE_BYTES)
    this.#edge[level] = tile
    return tile
  }
}
