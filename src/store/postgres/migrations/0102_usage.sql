-- What each server counts for a tenant in one period. The counts never change. Ids sort by time.
CREATE TABLE usage_events (
  tenant               int     NOT NULL,
  id                   text    COLLATE "C" NOT NULL,
  from_at              bigint  NOT NULL,
  to_at                bigint  NOT NULL,
  instance             text    NOT NULL,
  tasks                bigint  NOT NULL,
  lease_ms             bigint  NOT NULL,
  receipt_bytes        bigint  NOT NULL,
  -- The new bytes times the seconds that were left of the hour when each was stored.
  receipt_byte_seconds bigint  NOT NULL,
  calls                bigint  NOT NULL,
  -- Until the billing webhook has sent it.
  is_unsent            boolean NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE INDEX usage_events_unsent ON usage_events (tenant, id) WHERE is_unsent;

-- The sums of the events of an hour, written together with them.
CREATE TABLE usage_hours (
  tenant               int    NOT NULL,
  hour                 bigint NOT NULL,
  tasks                bigint NOT NULL,
  lease_ms             bigint NOT NULL,
  receipt_bytes        bigint NOT NULL,
  receipt_byte_seconds bigint NOT NULL,
  calls                bigint NOT NULL,
  PRIMARY KEY (tenant, hour)
);

ALTER TABLE usage_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_events FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_events_of_tenants ON usage_events
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE usage_hours ENABLE ROW LEVEL SECURITY;
ALTER TABLE usage_hours FORCE ROW LEVEL SECURITY;
CREATE POLICY usage_hours_of_tenants ON usage_hours
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
