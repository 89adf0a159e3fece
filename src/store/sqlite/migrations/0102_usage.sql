-- What each server counts for a tenant in one period. The counts never change. Ids sort by time.
CREATE TABLE usage_events (
  tenant               INTEGER NOT NULL,
  id                   TEXT    NOT NULL,
  from_at              INTEGER NOT NULL,
  to_at                INTEGER NOT NULL,
  instance             TEXT    NOT NULL,
  tasks                INTEGER NOT NULL,
  lease_ms             INTEGER NOT NULL,
  receipt_bytes        INTEGER NOT NULL,
  -- The new bytes times the seconds that were left of the hour when each was stored.
  receipt_byte_seconds INTEGER NOT NULL,
  calls                INTEGER NOT NULL,
  -- 1 until the billing webhook has sent it.
  is_unsent            INTEGER NOT NULL CHECK (is_unsent IN (0, 1)),
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_events_unsent ON usage_events (tenant, id) WHERE is_unsent = 1;

-- The sums of the events of an hour, written together with them.
CREATE TABLE usage_hours (
  tenant               INTEGER NOT NULL,
  hour                 INTEGER NOT NULL,
  tasks                INTEGER NOT NULL,
  lease_ms             INTEGER NOT NULL,
  receipt_bytes        INTEGER NOT NULL,
  receipt_byte_seconds INTEGER NOT NULL,
  calls                INTEGER NOT NULL,
  PRIMARY KEY (tenant, hour)
) STRICT, WITHOUT ROWID;
