-- When the retention of an ended task has to be applied, and when its contents were removed.
ALTER TABLE tasks_done ADD COLUMN expires_at bigint;
ALTER TABLE tasks_done ADD COLUMN cleared_at bigint;

CREATE INDEX tasks_expiring ON tasks_done (tenant, expires_at) WHERE expires_at IS NOT NULL;

-- Files that contain archived receipts, and the tasks that they are about.
CREATE TABLE archives (
  tenant     int    NOT NULL,
  -- The SHA-256 of its content.
  file       text   COLLATE "C" NOT NULL,
  -- The lowest and the highest seq of its receipts.
  first      bigint NOT NULL,
  last       bigint NOT NULL,
  -- The runs of consecutive seqs of its receipts.
  runs       text   NOT NULL,
  tasks      int    NOT NULL,
  receipts   int    NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tenant, file)
);

CREATE INDEX archives_range ON archives (tenant, last, first);

ALTER TABLE archives ENABLE ROW LEVEL SECURITY;
ALTER TABLE archives FORCE ROW LEVEL SECURITY;
CREATE POLICY archives_of_tenants ON archives
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
