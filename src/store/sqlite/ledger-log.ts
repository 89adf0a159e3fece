import type { Tile } from '../../core/merkle/tiles.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import type { LedgerLog, StoredCheckpoint } from '../ledger-log.ts'
import { type Change, type Database, inTransaction } from './database.ts'
import { attemptAvailable } from './failure.ts'
import { SEGMENT_WITH, SEGMENTS } from './ledger.ts'

const CHECKPOINT = 'size, created_at, note'

export const LOG_SEGMENTS = `${SEGMENTS.ascending} LIMIT ?`
export const LOG_TILE = 'SELECT level, n, hashes FROM ledger_tiles WHERE tenant = ? AND level = ? AND n = ?'
export const LATEST_CHECKPOINT = `SELECT ${CHECKPOINT} FROM ledger_checkpoints
  WHERE tenant = ? ORDER BY size DESC LIMIT 1`
export const NEXT_CHECKPOINTS = `SELECT ${CHECKPOINT} FROM ledger_checkpoints
  WHERE tenant = ? AND size > ? ORDER BY size LIMIT ?`

interface TileRow {
  readonly level: number
  readonly n: number
  readonly hashes: Uint8Array
}

export function prepareLedgerLog(reader: Database, writer: Database, change: Change): LedgerLog {
  const segments = reader.prepare(LOG_SEGMENTS)
  const segment = reader.prepare(SEGMENT_WITH)
  const tile = reader.prepare(LOG_TILE)
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

  return {
    receipts: async (tenant, after, limit) => {
      const rows = attemptAvailable(() => segments.all(tenant, tenant, after, limit) as Segment[])
      return rows.flatMap((row) => [...new OpenSegment(row).committedAfter(after)])
    },
    receipt: async (tenant, seq) => {
      const row = attemptAvailable(() => segment.get(tenant, seq) as Segment | undefined)
      return row && new OpenSegment(row).committed(seq)
    },
    tiles: async (tenant, keys) =>
      attemptAvailable(() =>
        keys.flatMap(({ level, n }): Tile[] => {
          const row = tile.get(tenant, level, n) as TileRow | undefined
          return row === undefined ? [] : [{ level, n, hashes: Buffer.from(row.hashes) }]
        }),
      ),
    latest: async (tenant) => attemptAvailable(() => latest.get(tenant) as StoredCheckpoint | undefined),
    checkpoints: async (...values) => attemptAvailable(() => next.all(...values) as StoredCheckpoint[]),
    append: async (...values) => change(() => inTransaction(writer, () => append(...values))),
  }
}
