-- Records beside the tasks, by kind and name. `version` counts the writes of each.
CREATE TABLE entries (
  tenant  int    NOT NULL,
  kind    text   COLLATE "C" NOT NULL,
  name    text   COLLATE "C" NOT NULL,
  version int    NOT NULL,
  value   text   NOT NULL,
  due_at  bigint,
  PRIMARY KEY (tenant, kind, name)
);

CREATE INDEX entries_due ON entries (tenant, kind, due_at) WHERE due_at IS NOT NULL;

ALTER TABLE entries ENABLE ROW LEVEL SECURITY;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
CREATE POLICY entries_of_tenants ON entries
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
