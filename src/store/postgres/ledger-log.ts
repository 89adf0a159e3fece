import type { Tile } from '../../core/merkle/tiles.ts'
import { runsOf } from '../layout/segment-leaves.ts'
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
const REPAIR = { ...TILE_KEY, before: 'text', after: 'text' } as const
const CHECKPOINT = 'size, created_at, note'

export const ledgerLogQueries = {
  // LIMIT keeps the planner from reading all tiles for each call, which it prefers while the table is small.
  ledger_tiles: `
    SELECT t.level, t.n, t.hashes FROM ${rowsOf(TILE_KEY)}
    CROSS JOIN LATERAL (
      SELECT * FROM ledger_tiles WHERE tenant = $3 AND level = x.level AND n = x.n LIMIT 1
    ) t`,
  list_tiles: `
    SELECT level, n, hashes FROM ledger_tiles
    WHERE tenant = $1 AND (level, n) > ($2, $3) ORDER BY level, n LIMIT $4`,
  tree_size: `
    SELECT count(*) AS tiles, coalesce(sum(length(hashes)), 0)::bigint AS bytes FROM ledger_tiles WHERE tenant = $1`,
  repair_tiles: `
    WITH wanted AS (
      SELECT x.level, x.n, decode(x.before, 'base64') AS before, decode(x.after, 'base64') AS after
      FROM ${rowsOf(REPAIR)}),
    removed AS (
      DELETE FROM ledger_tiles t USING wanted w
      WHERE t.tenant = $5 AND t.level = w.level AND t.n = w.n AND t.hashes = w.before AND w.after IS NULL),
    replaced AS (
      UPDATE ledger_tiles t SET hashes = w.after FROM wanted w
      WHERE t.tenant = $5 AND t.level = w.level AND t.n = w.n AND t.hashes = w.before AND w.after IS NOT NULL)
    INSERT INTO ledger_tiles (tenant, level, n, hashes)
    SELECT $5, w.level, w.n, w.after FROM wanted w WHERE w.before IS NULL AND w.after IS NOT NULL
    ON CONFLICT DO NOTHING`,
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

type TreeSize = Awaited<ReturnType<LedgerLog['treeSize']>>

/** Below every level, also one that was written by mistake. */
const FIRST_LEVEL = -(2 ** 31)

function statement(name: keyof typeof ledgerLogQueries) {
  return { name, text: ledgerLogQueries[name] }
}

export function ledgerLogOn(pooled: Pooled): LedgerLog {
  return {
    leaves: async (ref, after, limit) => {
      const { tenant } = ref
      const rows = await readTenant(pooled, tenant, (client) =>
        ask<Segment>(client, 'segments_ascending', [tenant, after, limit]),
      )
      return runsOf(rows, ref, after)
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
    listTiles: (tenant, after, limit) =>
      readTenant(pooled, tenant, (client) =>
        run<Tile>(client, statement('list_tiles'), [
          tenant,
          after?.level ?? FIRST_LEVEL,
          after?.n ?? 0,
          limit,
        ]),
      ),
    async treeSize(tenant) {
      const [row] = await readTenant(pooled, tenant, (client) =>
        run<TreeSize>(client, statement('tree_size'), [tenant]),
      )
      return { tiles: row?.tiles ?? 0, bytes: row?.bytes ?? 0 }
    },
    async repairTiles(tenant, repairs) {
      const rows = repairs.map(({ level, n, before, after }) => ({
        level,
        n,
        before: before?.toString('base64') ?? null,
        after: after?.toString('base64') ?? null,
      }))
      const values = [...parameters(REPAIR, rows), tenant]
      await writeTenant(pooled, tenant, (client) => run(client, statement('repair_tiles'), values))
    },
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
