import { EMPTY_ROOT, HASH_BYTES, nodeHash, type Range } from './tree.ts'

/** How many hashes a full tile has. Each is the root of a subtree of `TILE_WIDTH ** level` leaves. */
export const TILE_WIDTH = 64

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
  return folded(hashesIn(tile.hashes.subarray(place.first * HASH_BYTES, end)))
}

export function hashesIn(bytes: Buffer): Buffer[] {
  const hashes: Buffer[] = []
  for (let at = 0; at < bytes.length; at += HASH_BYTES) hashes.push(bytes.subarray(at, at + HASH_BYTES))
  return hashes
}

/** The root above hashes whose number is a power of two. */
function folded(row: readonly Buffer[]): Buffer {
  let above = row
  while (above.length > 1) above = paired(above)
  return above[0] ?? EMPTY_ROOT
}

function paired(row: readonly Buffer[]): Buffer[] {
  const above: Buffer[] = []
  let left: Buffer | undefined
  for (const hash of row) {
    if (left === undefined) left = hash
    else {
      above.push(nodeHash(left, hash))
      left = undefined
    }
  }
  return above
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

/** A tree that grows. It has its right edge, and the tiles that were changed since they were taken. */
export class GrowingTree {
  #size: number
  /** The hashes of the tile at the right edge, by level. */
  readonly #edge: Buffer[][] = []
  readonly #full: Tile[] = []

  /** Continues a tree of `size` leaves, of which `find` has the edge. */
  constructor(size = 0, find: FindTile = () => undefined) {
    this.#size = size
    for (const key of edgeOf(size)) {
      const count = Math.floor(size / TILE_WIDTH ** key.level) % TILE_WIDTH
      const hashes = hashesIn(find(key)?.hashes ?? Buffer.alloc(0)).slice(0, count)
      if (hashes.length < count) throw new MissingTile(key)
      this.#edge[key.level] = hashes
    }
  }

  get size(): number {
    return this.#size
  }

  append(leaf: Buffer): void {
    this.#size++
    for (let [level, hash] = [0, leaf]; ; level++) {
      this.#edge[level] ??= []
      const row = this.#edge[level] ?? []
      row.push(hash)
      if (row.length < TILE_WIDTH) return
      this.#full.push({ level, n: this.#size / TILE_WIDTH ** (level + 1) - 1, hashes: Buffer.concat(row) })
      this.#edge[level] = []
      hash = folded(row)
    }
  }

  root(): Buffer {
    return rootOf({ start: 0, end: this.#size }, tilesIn(this.edge()))
  }

  /** The tiles that were filled since the last call, and those at the edge. */
  takeTiles(): Tile[] {
    return [...this.#full.splice(0), ...this.edge()]
  }

  /** The tiles that are not full. */
  edge(): Tile[] {
    return this.#edge.flatMap((row, level) => {
      const n = Math.floor(this.#size / TILE_WIDTH ** (level + 1))
      return row.length === 0 ? [] : [{ level, n, hashes: Buffer.concat(row) }]
    })
  }
}
