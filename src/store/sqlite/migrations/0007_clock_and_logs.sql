-- The clock needs no table here: there is one process, and it keeps its own time.

-- What workers log about tasks, numbered from 1. `total` is the size of all lines up to this one, in bytes.
CREATE TABLE task_logs (
  tenant   INTEGER NOT NULL,
  task_id  TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  lease_id TEXT    NOT NULL,
  level    TEXT    NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  text     TEXT    NOT NULL,
  context  TEXT,
  total    INTEGER NOT NULL,
  -- The log was full: nothing comes after this line.
  is_last  INTEGER NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
) STRICT, WITHOUT ROWID;
