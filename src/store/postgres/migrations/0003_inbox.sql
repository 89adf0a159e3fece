-- Receipts that ask for somebody's attention, and what became of them there. Times are set once; `seq` is that of the
-- receipt. A receipt may stand in more than one inbox.
CREATE TABLE inbox (
  tenant         int    NOT NULL,
  principal      text   COLLATE "C" NOT NULL,
  seq            bigint NOT NULL,
  created_at     bigint NOT NULL,
  delivered_at   bigint,
  delivery_count int    NOT NULL DEFAULT 0,
  read_at        bigint,
  fetched_at     bigint,
  promoted_at    bigint,
  archived_at    bigint,
  PRIMARY KEY (tenant, principal, seq),
  CHECK ((delivered_at IS NULL) = (delivery_count = 0)),
  CHECK (read_at IS NOT NULL OR (fetched_at IS NULL AND promoted_at IS NULL))
);

CREATE INDEX inbox_unread ON inbox (tenant, principal, seq) WHERE read_at IS NULL AND archived_at IS NULL;

-- Row-level security binds the owner of the tables too, so the tenants to be copied must be named.
SELECT set_config('asyncgate.tenants', coalesce((SELECT array_agg(tenant)::text FROM tenants), ''), true);

-- What was acknowledged by the one to whom it is addressed has left the inbox.
INSERT INTO inbox
SELECT r.tenant, r."to", r.seq, r.created_at, d.delivered_at, (d.delivered_at IS NOT NULL)::int,
  a.acknowledged_at, NULL, NULL, a.acknowledged_at
FROM receipts r
LEFT JOIN receipt_deliveries d ON d.tenant = r.tenant AND d.seq = r.seq
LEFT JOIN (
  SELECT p.tenant, p.parent, c."from", min(c.created_at) AS acknowledged_at
  FROM receipt_parents p JOIN receipts c ON c.tenant = p.tenant AND c.seq = p.child
  WHERE c.receipt_type = 'receipt.acknowledged'
  GROUP BY p.tenant, p.parent, c."from"
) a ON a.tenant = r.tenant AND a.parent = r.seq AND a."from" = r."to"
WHERE r.receipt_type IN ('task.result_ready', 'task.escalated', 'lease.expired', 'system.anomaly');

-- Results also for the agent on whose behalf the work was done.
INSERT INTO inbox (tenant, principal, seq, created_at)
SELECT r.tenant, 'agent:' || t.principal_ai, r.seq, r.created_at
FROM receipts r
JOIN tasks_done t ON t.task_id = r.task_id AND t.tenant = r.tenant
WHERE r.receipt_type = 'task.result_ready' AND 'agent:' || t.principal_ai <> r."to";

DROP TABLE receipt_deliveries;

ALTER TABLE inbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE inbox FORCE ROW LEVEL SECURITY;
CREATE POLICY inbox_of_tenants ON inbox
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
