-- The Merkle tree over the receipts of a tenant, in tiles. A tile of level 0 has hashes of leaves, a tile of another level
-- the roots of 64 hashes each of the level below. A tile grows until it has 64 hashes of 32 bytes.
CREATE TABLE ledger_tiles (
  tenant INTEGER NOT NULL,
  level  INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  hashes BLOB    NOT NULL,
  PRIMARY KEY (tenant, level, n)
) STRICT, WITHOUT ROWID;

-- Signed statements of how many receipts there were and of the root of their tree.
CREATE TABLE ledger_checkpoints (
  tenant     INTEGER NOT NULL,
  size       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  note       TEXT    NOT NULL,
  PRIMARY KEY (tenant, size)
) STRICT, WITHOUT ROWID;
