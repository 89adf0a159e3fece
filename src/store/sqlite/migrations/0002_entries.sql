-- Records beside the tasks, by kind and name. `version` counts the writes of each.
CREATE TABLE entries (
  tenant  INTEGER NOT NULL,
  kind    TEXT    NOT NULL,
  name    TEXT    NOT NULL,
  version INTEGER NOT NULL,
  value   TEXT    NOT NULL,
  due_at  INTEGER,
  PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_due ON entries (tenant, kind, due_at) WHERE due_at IS NOT NULL;
