import type { TreeHead } from '../../core/merkle/checkpoint.ts'
import { edgeOf, GrowingTree, type Tile, tilesIn } from '../../core/merkle/tiles.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Archive } from '../retention/archive.ts'
import { LeafReader } from './leaf-reader.ts'

/** Rows that the server hashes between requests. */
const ROWS_PER_TURN = 4
/** Receipts after which the tree is stored, if a log is far behind. */
const MAX_RECEIPTS = 16_384

/** What a tree has become, and the tiles that have changed. */
export interface Growth {
  readonly size: number
  readonly root: Uint8Array
  readonly tiles: readonly (Omit<Tile, 'hashes'> & { readonly hashes: Uint8Array })[]
}

interface Sources {
  readonly log: Pick<LedgerLog, 'leaves' | 'tiles'>
  readonly archive: Pick<Archive, 'committedFrom'>
  /** Rows that are hashed without a pause. */
  readonly rowsPerTurn?: number
}

/** The head of the last checkpoint. */
export type GrowFrom = Pick<TreeHead, 'size'> & { readonly root: Uint8Array }

/** Grows the stored tree of a tenant by receipts that follow. Undefined if there are none. */
export type GrowTree = (tenant: TenantRef, from: GrowFrom) => Promise<Growth | undefined>

export async function growTree(
  { log, archive, rowsPerTurn = ROWS_PER_TURN }: Sources,
  tenant: TenantRef,
  { size, root }: GrowFrom,
): Promise<Growth | undefined> {
  const tree = new GrowingTree(size, tilesIn(await log.tiles(tenant.tenant, edgeOf(size))))
  // A tree that was damaged must not be signed: no later checkpoint could be consistent with the earlier ones.
  if (!tree.root().equals(root)) throw new Error(damageText(tenant))
  const reader = new LeafReader({ log, archive }, tenant)
  while (tree.size - size < MAX_RECEIPTS) {
    const run = await reader.next(tree.size, rowsPerTurn)
    if (run === undefined) break
    if (run.first !== tree.size + 1) throw new Error(gapText(tenant, tree.size + 1))
    tree.append(run.hashes)
    await nextTurn()
  }
  return tree.size === size ? undefined : { size: tree.size, root: tree.root(), tiles: tree.takeTiles() }
}

function damageText({ name }: TenantRef): string {
  return `the stored tree of the tenant ${name} is not the one of its last checkpoint: run "asyncgate verify ledger"`
}

function gapText({ name }: TenantRef, seq: number): string {
  return `the ledger of the tenant ${name} has no receipt ${seq}: run "asyncgate verify ledger"`
}
