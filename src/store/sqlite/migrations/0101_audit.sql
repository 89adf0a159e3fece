-- Append-only until retention removes the oldest rows. Ids sort by time.
CREATE TABLE audit_events (
  tenant     INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  event      TEXT    NOT NULL,
  severity   TEXT    NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  outcome    TEXT    NOT NULL CHECK (outcome IN ('success', 'failure')),
  principal  TEXT,
  subject    TEXT,
  reason     TEXT,
  ip         TEXT,
  user_agent TEXT,
  request_id TEXT,
  key_id     TEXT,
  -- A JSON object.
  details    TEXT    NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
