import { hash } from 'node:crypto'

/** The hashes of RFC 9162: SHA-256, with a prefix that keeps leaves and inner nodes apart. */
export const HASH_BYTES = 32

/** A prefix and two hashes. It is used again for each node: hashing does not wait. */
const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

export const EMPTY_ROOT = hash('sha256', '', 'buffer')

/** Writes the hash of a leaf to a place in `target`. */
export function writeLeafHash(entry: string, target: Buffer, at: number): void {
  // A digest as text costs half as much as one in its own buffer.
  target.write(hash('sha256', `\0${entry}`, 'binary'), at, 'latin1')
}

export function leafHash(entry: string): Buffer {
  const leaf = Buffer.alloc(HASH_BYTES)
  writeLeafHash(entry, leaf, 0)
  return leaf
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  node.set(left, 1)
  node.set(right, 1 + HASH_BYTES)
  return hash('sha256', node, 'buffer')
}

/** The root above the hashes in a buffer, whose number is a power of two. */
export function foldedRoot(hashes: Buffer): Buffer {
  if (hashes.length === 0) return EMPTY_ROOT
  const row = Buffer.from(hashes)
  for (let length = row.length; length > HASH_BYTES; length /= 2) {
    for (let at = 0; at < length; at += 2 * HASH_BYTES) {
      row.copy(node, 1, at, at + 2 * HASH_BYTES)
      row.write(hash('sha256', node, 'binary'), at / 2, 'latin1')
    }
  }
  return row.subarray(0, HASH_BYTES)
}

/** The leaves from `start` up to, and without, `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** The subtrees whose roots prove that the leaf `index` is in a tree of `size` leaves, from the leaf upwards. */
export function inclusionRanges(index: number, size: number): Range[] {
  const ranges: Range[] = []
  let [start, end] = [0, size]
  while (end - start > 1) {
    const middle = start + splitOf(end - start)
    if (index < middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  return ranges.reverse()
}

/**
 * The subtrees whose roots prove that a tree of `size` leaves begins with that of `first` leaves, in the order of RFC
 * 9162, section 2.1.4.1. `first` is at least 1.
 */
export function consistencyRanges(first: number, size: number): Range[] {
  const ranges: Range[] = []
  let [start, end] = [0, size]
  while (end > first) {
    const middle = start + splitOf(end - start)
    if (first <= middle) {
      ranges.push({ start: middle, end })
      end = middle
    } else {
      ranges.push({ start, end: middle })
      start = middle
    }
  }
  // The verifier knows the root of the first tree, unless that is only a part of what is left.
  if (start > 0) ranges.push({ start, end })
  return ranges.reverse()
}

/** The largest power of two that is less than `count`, which is at least 2. */
function splitOf(count: number): number {
  let split = 1
  while (split * 2 < count) split *= 2
  return split
}
