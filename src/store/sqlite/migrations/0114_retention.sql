-- When the retention of an ended task has to be applied, and when its contents were removed.
ALTER TABLE tasks_done ADD COLUMN expires_at INTEGER;
ALTER TABLE tasks_done ADD COLUMN cleared_at INTEGER;

CREATE INDEX tasks_expiring ON tasks_done (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- Files that contain archived receipts, and the tasks that they are about.
CREATE TABLE archives (
  tenant     INTEGER NOT NULL,
  -- The SHA-256 of its content.
  file       TEXT    NOT NULL,
  -- The lowest and the highest seq of its receipts.
  first      INTEGER NOT NULL,
  last       INTEGER NOT NULL,
  -- The runs of consecutive seqs of its receipts.
  runs       TEXT    NOT NULL,
  tasks      INTEGER NOT NULL,
  receipts   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, file)
) STRICT, WITHOUT ROWID;

CREATE INDEX archives_range ON archives (tenant, last, first);
