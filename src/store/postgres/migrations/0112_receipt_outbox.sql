-- Receipts that the shared ledger has not accepted yet. Their contents are in the ledger.
CREATE TABLE receipt_outbox (
  tenant      int    NOT NULL,
  seq         bigint NOT NULL,
  task_id     uuid   NOT NULL,
  -- What is sent in every attempt. Null until it is rendered.
  rendered    text,
  state       text   NOT NULL CHECK (state IN ('pending', 'set_aside')),
  tries       int    NOT NULL,
  next_try_at bigint NOT NULL,
  -- Why it was set aside.
  reason      text   CHECK ((reason IS NULL) = (state = 'pending')),
  PRIMARY KEY (tenant, seq)
);

CREATE INDEX receipt_outbox_states ON receipt_outbox (tenant, state, seq);
CREATE INDEX receipt_outbox_tasks ON receipt_outbox (tenant, task_id, seq);

-- The seq up to which the receipts of a tenant were added to the outbox.
CREATE TABLE receipt_outbox_cursors (
  tenant int    PRIMARY KEY,
  seq    bigint NOT NULL
);

ALTER TABLE receipt_outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE receipt_outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY receipt_outbox_of_tenants ON receipt_outbox
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE receipt_outbox_cursors ENABLE ROW LEVEL SECURITY;
ALTER TABLE receipt_outbox_cursors FORCE ROW LEVEL SECURITY;
CREATE POLICY receipt_outbox_cursors_of_tenants ON receipt_outbox_cursors
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
