import { describe, expect, it } from 'vitest'
import { verifyConsistency } from '../../../src/client/ledger-proof.ts'
import { edgeOf, GrowingTree, rootOf, type Tile, tilesFor, tilesIn } from '../../../src/core/merkle/tiles.ts'
import {
  consistencyRanges,
  EMPTY_ROOT,
  inclusionRanges,
  leafHash,
  nodeHash,
} from '../../../src/core/merkle/tree.ts'

/** The leaves of the test vectors of Certificate Transparency, and the roots of the trees of the first 1 to 8 of them. */
const LEAVES = ['', '\x00', '\x10', ' !', '01', '@ABC', 'PQRSTUVW', '`abcdefghijklmno']
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

/** Written as RFC 9162 defines it. */
function naiveRoot(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves
  if (first === undefined) return EMPTY_ROOT
  if (leaves.length === 1) return first
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return nodeHash(naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)))
}

function grow(leaves: readonly Buffer[]): { readonly tree: GrowingTree; readonly tiles: Tile[] } {
  const tree = new GrowingTree()
  for (const leaf of leaves) tree.append(leaf)
  return { tree, tiles: tree.takeTiles() }
}

const many = Array.from({ length: 4_300 }, (_, i) => leafHash(String(i)))
const SIZES = [1, 2, 3, 63, 64, 65, 100, 127, 128, 129, 1000, 4095, 4096, 4097, 4300]

describe('the Merkle tree', () => {
  it('has the roots of the published test vectors', () => {
    for (const [i, root] of ROOTS.entries()) {
      const { tree } = grow(LEAVES.slice(0, i + 1).map(leafHash))
      expect(tree.root().toString('hex')).toBe(root)
    }
    expect(new GrowingTree().root()).toEqual(EMPTY_ROOT)
  })

  it('has the root that the definition gives, for sizes around those of tiles', () => {
    for (const size of SIZES) {
      const leaves = many.slice(0, size)
      expect(grow(leaves).tree.root()).toEqual(naiveRoot(leaves))
    }
  })

  it('continues from its right edge as if it had never stopped', () => {
    for (const size of SIZES) {
      const { tiles } = grow(many.slice(0, size))
      const edge = edgeOf(size)
      const stored = tiles.filter(({ level, n }) => edge.some((key) => key.level === level && key.n === n))
      const continued = new GrowingTree(size, tilesIn(stored))
      for (const leaf of many.slice(size, size + 70)) continued.append(leaf)
      expect(continued.root()).toEqual(naiveRoot(many.slice(0, size + 70)))
    }
  })

  it('refuses to continue without its edge', () => {
    expect(() => new GrowingTree(65)).toThrow('tile 1 of level 0 is missing or too short')
  })

  it('computes inclusion proofs from the tiles that it names', () => {
    for (const size of SIZES) {
      const { tree, tiles } = grow(many.slice(0, size))
      for (const index of new Set([0, 1, 62, 63, 64, size - 2, size - 1].filter((i) => i >= 0 && i < size))) {
        const ranges = inclusionRanges(index, size)
        const named = tilesFor(ranges)
        const find = tilesIn(
          tiles.filter((tile) => named.some(({ level, n }) => level === tile.level && n === tile.n)),
        )
        let [start, end, hash] = [index, index + 1, many[index] ?? EMPTY_ROOT]
        for (const range of ranges) {
          const other = rootOf(range, find)
          hash = range.start < start ? nodeHash(other, hash) : nodeHash(hash, other)
          ;[start, end] = [Math.min(start, range.start), Math.max(end, range.end)]
        }
        expect([start, end, hash]).toEqual([0, size, tree.root()])
      }
    }
  })

  it('computes consistency proofs that the client accepts, and no others', async () => {
    for (const size of [1, 2, 3, 7, 8, 64, 65, 129]) {
      const { tree, tiles } = grow(many.slice(0, size))
      for (let first = 1; first <= size; first++) {
        const before = { size: first, root: naiveRoot(many.slice(0, first)) }
        const after = { size, root: tree.root() }
        const proof = consistencyRanges(first, size).map((range) => rootOf(range, tilesIn(tiles)))
        await verifyConsistency(before, after, proof)
        const other = { size: first, root: leafHash('other') }
        await expect(verifyConsistency(other, after, proof)).rejects.toThrow('does not continue')
        await expect(verifyConsistency(before, after, [...proof, EMPTY_ROOT])).rejects.toThrow(
          'does not continue',
        )
        if (proof.length > 0) {
          await expect(verifyConsistency(before, after, proof.slice(1))).rejects.toThrow('does not continue')
        }
      }
    }
  })
})
