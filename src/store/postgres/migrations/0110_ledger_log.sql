-- The Merkle tree over the receipts of a tenant, in tiles. A tile of level 0 has hashes of leaves, a tile of another level
-- the roots of 64 hashes each of the level below. A tile grows until it has 64 hashes of 32 bytes.
CREATE TABLE ledger_tiles (
  tenant int    NOT NULL,
  level  int    NOT NULL,
  n      bigint NOT NULL,
  hashes bytea  NOT NULL,
  PRIMARY KEY (tenant, level, n)
);

-- Hashes cannot be compressed, and a full tile fits into a page.
ALTER TABLE ledger_tiles ALTER COLUMN hashes SET STORAGE PLAIN;

-- Signed statements of how many receipts there were and of the root of their tree.
CREATE TABLE ledger_checkpoints (
  tenant     int    NOT NULL,
  size       bigint NOT NULL,
  created_at bigint NOT NULL,
  note       text   NOT NULL,
  PRIMARY KEY (tenant, size)
);

ALTER TABLE ledger_tiles ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger_tiles FORCE ROW LEVEL SECURITY;
CREATE POLICY ledger_tiles_of_tenants ON ledger_tiles
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE ledger_checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger_checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY ledger_checkpoints_of_tenants ON ledger_checkpoints
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
