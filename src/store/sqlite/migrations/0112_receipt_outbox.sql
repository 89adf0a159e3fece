-- Receipts that the shared ledger has not accepted yet. Their contents are in the ledger.
CREATE TABLE receipt_outbox (
  tenant      INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  task_id     TEXT    NOT NULL,
  -- What is sent in every attempt. Null until it is rendered.
  rendered    TEXT,
  state       TEXT    NOT NULL CHECK (state IN ('pending', 'set_aside')),
  tries       INTEGER NOT NULL,
  next_try_at INTEGER NOT NULL,
  -- Why it was set aside.
  reason      TEXT    CHECK ((reason IS NULL) = (state = 'pending')),
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipt_outbox_states ON receipt_outbox (tenant, state, seq);
CREATE INDEX receipt_outbox_tasks ON receipt_outbox (tenant, task_id, seq);

-- The seq up to which the receipts of a tenant were added to the outbox.
CREATE TABLE receipt_outbox_cursors (
  tenant INTEGER PRIMARY KEY,
  seq    INTEGER NOT NULL
) STRICT;
