import { headIn } from '../../core/merkle/checkpoint.ts'
import { GrowingTree, hasTile, type Tile, type TileKey } from '../../core/merkle/tiles.ts'
import { HASH_BYTES } from '../../core/merkle/tree.ts'
import type { LedgerLog, TileRepair } from '../../store/ledger-log.ts'
import type { TenantRef } from '../../store/store.ts'
import type { Archive } from '../retention/archive.ts'
import { LeafReader } from './leaf-reader.ts'

const ROWS = 32
/** Tiles that are compared at once. */
const TILES = 256

interface Deps {
  readonly log: LedgerLog
  readonly archive: Pick<Archive, 'committedFrom'>
}

/**
 * Replaces the tiles of a tenant that are not those of the last checkpoint, and removes those that it does not cover.
 * The receipts must have been compared with the checkpoints before. Resolves with the number of tiles.
 */
export async function repairTree({ log, archive }: Deps, tenant: TenantRef): Promise<number> {
  const latest = await log.latest(tenant.tenant)
  if (latest === undefined) return 0
  const { size, root } = headIn(latest.note)
  const tree = new GrowingTree()
  const reader = new LeafReader({ log, archive }, tenant)
  let repaired = 0
  const compare = async (computed: readonly Tile[]) => {
    const repairs = await differing(log, tenant.tenant, computed)
    if (repairs.length > 0) await log.repairTiles(tenant.tenant, repairs)
    repaired += repairs.length
  }
  while (tree.size < size) {
    const run = await reader.next(tree.size, ROWS)
    if (run === undefined || run.first !== tree.size + 1) throw changed(tenant)
    tree.append(run.hashes.subarray(0, (size - tree.size) * HASH_BYTES))
    await compare(tree.takeFull())
  }
  if (!tree.root().equals(root)) throw changed(tenant)
  await compare(tree.edge())
  return repaired + (await removeOthers(log, tenant.tenant, size))
}

async function differing(log: LedgerLog, tenant: number, computed: readonly Tile[]): Promise<TileRepair[]> {
  const stored = new Map<string, Buffer>()
  for (const { level, n, hashes } of await log.tiles(tenant, computed)) stored.set(`${level}/${n}`, hashes)
  return computed.flatMap(({ level, n, hashes: after }) => {
    const before = stored.get(`${level}/${n}`)
    return before?.equals(after) ? [] : [{ level, n, before, after }]
  })
}

/** Removes tiles that a tree of `size` leaves does not have. */
async function removeOthers(log: LedgerLog, tenant: number, size: number): Promise<number> {
  let removed = 0
  let last: TileKey | undefined
  for (;;) {
    const page: Tile[] = await log.listTiles(tenant, last, TILES)
    // What a server has stored since then comes with a larger checkpoint.
    if ((await log.latest(tenant))?.size !== size) return removed
    const others = page.filter((tile) => !hasTile(size, tile))
    const repairs = others.map(({ level, n, hashes }) => ({ level, n, before: hashes, after: undefined }))
    if (repairs.length > 0) await log.repairTiles(tenant, repairs)
    removed += repairs.length
    last = page.at(-1)
    if (last === undefined || page.length < TILES) return removed
  }
}

function changed({ name }: TenantRef): Error {
  return new Error(`the receipts of the tenant ${name} have changed during the repair: verify them again`)
}
