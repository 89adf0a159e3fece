import type { Tile } from '../../core/merkle/tiles.ts'
import { OpenSegment, type Segment } from '../layout/segments.ts'
import type { LedgerLog, StoredCheckpoint } from '../ledger-log.ts'
import { ask } from './ask.ts'
import { readTenant, writeTenant } from './borrow.ts'
import { parameters, rowsOf } from './columns.ts'
import { type Pooled, run } from './database.ts'
import { SEQ_KEY } from './shapes.ts'

const TILE_KEY = { level: 'int', n: 'bigint' } as const
/** The hashes travel in base64. */
const TILE = { ...TILE_KEY, hashes: 'text' } as const
const CHECKPOINT = 'size, created_at, note'

export const ledgerLogQueries = {
  ledger_tiles: `
    SELECT t.level, t.n, t.hashes FROM ${rowsOf(TILE_KEY)}
    JOIN ledger_tiles t ON t.tenant = $3 AND t.level = x.level AND t.n = x.n`,
  latest_checkpoint: `
    SELECT ${CHECKPOINT} FROM ledger_checkpoints WHERE tenant = $1 ORDER BY size DESC LIMIT 1`,
  next_checkpoints: `
    SELECT ${CHECKPOINT} FROM ledger_checkpoints WHERE tenant = $1 AND size > $2 ORDER BY size LIMIT $3`,
  append_log: `
    WITH added AS (
      INSERT INTO ledger_checkpoints (tenant, ${CHECKPOINT})
      SELECT $4::int, $5::bigint, $6::bigint, $7::text
      WHERE NOT EXISTS (SELECT FROM ledger_checkpoints WHERE tenant = $4 AND size >= $5)
      ON CONFLICT DO NOTHING RETURNING size),
    replaced AS (
      DELETE FROM ledger_checkpoints
      WHERE tenant = $4 AND size < $5 AND created_at >= $8::bigint AND EXISTS (SELECT FROM added))
    INSERT INTO ledger_tiles AS t (tenant, level, n, hashes)
    SELECT $4, x.level, x.n, decode(x.hashes, 'base64') FROM ${rowsOf(TILE)} WHERE EXISTS (SELECT FROM added)
    ON CONFLICT (tenant, level, n) DO UPDATE SET hashes = excluded.hashes
    WHERE length(excluded.hashes) > length(t.hashes)`,
} as const

function statement(name: keyof typeof ledgerLogQueries) {
  return { name, text: ledgerLogQueries[name] }
}

export function ledgerLogOn(pooled: Pooled): LedgerLog {
  return {
    receipts: async (tenant, after, limit) => {
      const rows = await readTenant(pooled, tenant, (client) =>
        ask<Segment>(client, 'segments_ascending', [tenant, after, limit]),
      )
      return rows.flatMap((row) => [...new OpenSegment(row).committedAfter(after)])
    },
    async receipt(tenant, seq) {
      const [row] = await readTenant(pooled, tenant, (client) =>
        ask<Segment>(client, 'segments_at', parameters(SEQ_KEY, [{ tenant, seq }])),
      )
      return row && new OpenSegment(row).committed(seq)
    },
    tiles: (tenant, keys) =>
      readTenant(pooled, tenant, (client) =>
        run<Tile>(client, statement('ledger_tiles'), [...parameters(TILE_KEY, keys), tenant]),
      ),
    async latest(tenant) {
      const [row] = await readTenant(pooled, tenant, (client) =>
        run<StoredCheckpoint>(client, statement('latest_checkpoint'), [tenant]),
      )
      return row
    },
    checkpoints: (tenant, after, limit) =>
      readTenant(pooled, tenant, (client) =>
        run<StoredCheckpoint>(client, statement('next_checkpoints'), [tenant, after, limit]),
      ),
    async append(tenant, tiles, { size, created_at, note }, replacing) {
      const rows = tiles.map(({ level, n, hashes }) => ({ level, n, hashes: hashes.toString('base64') }))
      const values = [...parameters(TILE, rows), tenant, size, created_at, note, replacing]
      await writeTenant(pooled, tenant, (client) => run(client, statement('append_log'), values))
    },
  }
}
