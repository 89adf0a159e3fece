import type { Tile } from '../../core/merkle/tiles.ts'
import { runsOf } from '../layout/segment-leaves.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import type { LedgerLog, StoredCheckpoint, TileRepair } from '../ledger-log.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { SEGMENT_WITH, SEGMENTS } from './ledger.ts'

const CHECKPOINT = 'size, created_at, note'

export const LOG_SEGMENTS = `${SEGMENTS.ascending} LIMIT ?`
export const LOG_TILE = 'SELECT level, n, hashes FROM ledger_tiles WHERE tenant = ? AND level = ? AND n = ?'
export const LIST_TILES = `SELECT level, n, hashes FROM ledger_tiles
  WHERE tenant = ? AND (level, n) > (?, ?) ORDER BY level, n LIMIT ?`
export const TREE_SIZE = `SELECT count(*) AS tiles, coalesce(sum(length(hashes)), 0) AS bytes
  FROM ledger_tiles WHERE tenant = ?`
export const LATEST_CHECKPOINT = `SELECT ${CHECKPOINT} FROM ledger_checkpoints
  WHERE tenant = ? ORDER BY size DESC LIMIT 1`
export const NEXT_CHECKPOINTS = `SELECT ${CHECKPOINT} FROM ledger_checkpoints
  WHERE tenant = ? AND size > ? ORDER BY size LIMIT ?`

interface TileRow {
  readonly level: number
  readonly n: number
  readonly hashes: Uint8Array
}

type TreeSize = Awaited<ReturnType<LedgerLog['treeSize']>>

function tileOf({ level, n, hashes }: TileRow): Tile {
  return { level, n, hashes: Buffer.from(hashes) }
}

export function prepareLedgerLog(reader: Database, writer: Database, change: Change): LedgerLog {
  const segments = reader.prepare(LOG_SEGMENTS)
  const segment = reader.prepare(SEGMENT_WITH)
  const tile = reader.prepare(LOG_TILE)
  const list = reader.prepare(LIST_TILES)
  const treeSize = reader.prepare(TREE_SIZE)
  const latest = reader.prepare(LATEST_CHECKPOINT)
  const next = reader.prepare(NEXT_CHECKPOINTS)
  const atLeast = writer.prepare('SELECT 1 FROM ledger_checkpoints WHERE tenant = ? AND size >= ? LIMIT 1')
  const insertTile = writer.prepare(
    `INSERT INTO ledger_tiles (tenant, level, n, hashes) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET hashes = excluded.hashes WHERE length(excluded.hashes) > length(hashes)`,
  )
  const insertCheckpoint = writer.prepare(
    `INSERT INTO ledger_checkpoints (tenant, ${CHECKPOINT}) VALUES (?, ?, ?, ?)`,
  )
  const removeReplaced = writer.prepare(
    'DELETE FROM ledger_checkpoints WHERE tenant = ? AND size < ? AND created_at >= ?',
  )

  const append = (...[tenant, tiles, checkpoint, replacing]: Parameters<LedgerLog['append']>) => {
    const { size, created_at, note } = checkpoint
    if (atLeast.get(tenant, size) !== undefined) return
    for (const { level, n, hashes } of tiles) insertTile.run(tenant, level, n, hashes)
    removeReplaced.run(tenant, size, replacing)
    insertCheckpoint.run(tenant, size, created_at, note)
  }

  const addTile = writer.prepare(
    'INSERT INTO ledger_tiles (tenant, level, n, hashes) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const replaceTile = writer.prepare(
    'UPDATE ledger_tiles SET hashes = ? WHERE tenant = ? AND level = ? AND n = ? AND hashes = ?',
  )
  const removeTile = writer.prepare(
    'DELETE FROM ledger_tiles WHERE tenant = ? AND level = ? AND n = ? AND hashes = ?',
  )
  const repair = (tenant: number, { level, n, before, after }: TileRepair) => {
    if (after === undefined) removeTile.run(tenant, level, n, before ?? null)
    else if (before === undefined) addTile.run(tenant, level, n, after)
    else replaceTile.run(after, tenant, level, n, before)
  }

  return {
    leaves: async (ref, after, limit) => {
      const { tenant } = ref
      const rows = attemptAvailable(() => segments.all(tenant, tenant, after, limit) as Segment[])
      return runsOf(rows, ref, after)
    },
    receipt: async (tenant, seq) => {
      const row = attemptAvailable(() => segment.get(tenant, seq) as Segment | undefined)
      return row && new OpenSegment(row).committed(seq)
    },
    tiles: async (tenant, keys) =>
      attemptAvailable(() =>
        keys.flatMap(({ level, n }): Tile[] => {
          const row = tile.get(tenant, level, n) as TileRow | undefined
          return row === undefined ? [] : [tileOf(row)]
        }),
      ),
    listTiles: async (tenant, after, limit) => {
      const { level, n } = after ?? { level: Number.MIN_SAFE_INTEGER, n: 0 }
      return attemptAvailable(() => (list.all(tenant, level, n, limit) as TileRow[]).map(tileOf))
    },
    treeSize: async (tenant) => attemptAvailable(() => treeSize.get(tenant) as TreeSize),
    repairTiles: async (tenant, repairs) =>
      change(() =>
        inTransaction(writer, () => {
          for (const one of repairs) repair(tenant, one)
        }),
      ),
    latest: async (tenant) => attemptAvailable(() => latest.get(tenant) as StoredCheckpoint | undefined),
    checkpoints: async (...values) => attemptAvailable(() => next.all(...values) as StoredCheckpoint[]),
    append: async (...values) => change(() => inTransaction(writer, () => append(...values))),
  }
}
