import { leafText } from '../../core/merkle/leaf.ts'
import { edgeOf, GrowingTree, type Tile, tilesIn } from '../../core/merkle/tiles.ts'
import { leafHash } from '../../core/merkle/tree.ts'
import type { LedgerLog } from '../../store/ledger-log.ts'
import type { TenantRef } from '../../store/store.ts'
import { nextTurn } from '../../util/turns.ts'
import type { Archive } from '../retention/archive.ts'
import { ReceiptReader } from './receipt-reader.ts'

/** Rows of receipts that are hashed without a pause. */
const ROWS_PER_TURN = 4
/** Receipts after which the tree is stored, if a log is far behind. */
const MAX_RECEIPTS = 8_192

/** What a tree has become, and the tiles that have changed. */
export interface Growth {
  readonly size: number
  readonly root: Uint8Array
  readonly tiles: readonly (Omit<Tile, 'hashes'> & { readonly hashes: Uint8Array })[]
}

interface Sources {
  readonly log: Pick<LedgerLog, 'receipts' | 'tiles'>
  readonly archive: Pick<Archive, 'committedFrom'>
}

/** Grows the stored tree of a tenant, which has `size` leaves, by receipts that follow. Undefined if there are none. */
export type GrowTree = (tenant: TenantRef, size: number) => Promise<Growth | undefined>

export async function growTree(
  { log, archive }: Sources,
  tenant: TenantRef,
  size: number,
): Promise<Growth | undefined> {
  const tree = new GrowingTree(size, tilesIn(await log.tiles(tenant.tenant, edgeOf(size))))
  const reader = new ReceiptReader(log, archive, tenant.tenant)
  while (tree.size - size < MAX_RECEIPTS) {
    const receipts = await reader.next(tree.size, ROWS_PER_TURN)
    if (receipts.length === 0) break
    for (const committed of receipts) {
      if (committed.receipt.seq !== tree.size + 1) throw new Error(gapText(tenant, tree.size + 1))
      tree.append(leafHash(leafText(tenant, committed)))
    }
    await nextTurn()
  }
  return tree.size === size ? undefined : { size: tree.size, root: tree.root(), tiles: tree.takeTiles() }
}

function gapText({ name }: TenantRef, seq: number): string {
  return `the ledger of the tenant ${name} has no receipt ${seq}: run "asyncgate verify ledger"`
}
