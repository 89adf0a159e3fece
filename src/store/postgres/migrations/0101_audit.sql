-- Append-only until retention removes the oldest rows. Ids sort by time.
CREATE TABLE audit_events (
  tenant     int    NOT NULL,
  id         text   COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  event      text   NOT NULL,
  severity   text   NOT NULL CHECK (severity IN ('info', 'warning', 'critical')),
  outcome    text   NOT NULL CHECK (outcome IN ('success', 'failure')),
  principal  text,
  subject    text,
  reason     text,
  ip         text,
  user_agent text,
  request_id text,
  key_id     text,
  -- A JSON object.
  details    text   NOT NULL,
  PRIMARY KEY (tenant, id)
);

ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_events_of_tenants ON audit_events
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
