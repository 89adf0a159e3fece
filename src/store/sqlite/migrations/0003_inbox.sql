-- Receipts that ask for somebody's attention, and what became of them there. Times are set once; `seq` is that of the
-- receipt. A receipt may stand in more than one inbox.
CREATE TABLE inbox (
  tenant         INTEGER NOT NULL,
  principal      TEXT    NOT NULL,
  seq            INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  delivered_at   INTEGER,
  delivery_count INTEGER NOT NULL DEFAULT 0,
  read_at        INTEGER,
  fetched_at     INTEGER,
  promoted_at    INTEGER,
  archived_at    INTEGER,
  PRIMARY KEY (tenant, principal, seq),
  CHECK ((delivered_at IS NULL) = (delivery_count = 0)),
  CHECK (read_at IS NOT NULL OR (fetched_at IS NULL AND promoted_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX inbox_unread ON inbox (tenant, principal, seq) WHERE read_at IS NULL AND archived_at IS NULL;

-- What was acknowledged by the one to whom it is addressed has left the inbox.
INSERT INTO inbox
SELECT tenant, "to", seq, created_at, delivered_at, delivered_at IS NOT NULL, acknowledged_at, NULL, NULL, acknowledged_at
FROM (
  SELECT r.tenant, r."to", r.seq, r.created_at, d.delivered_at,
    (SELECT min(a.created_at) FROM receipt_parents p
     CROSS JOIN receipts a ON a.tenant = p.tenant AND a.seq = p.child
     WHERE p.tenant = r.tenant AND p.parent = r.seq
       AND a.receipt_type = 'receipt.acknowledged' AND a."from" = r."to") AS acknowledged_at
  FROM receipts r
  LEFT JOIN receipt_deliveries d ON d.tenant = r.tenant AND d.seq = r.seq
  WHERE r.receipt_type IN ('task.result_ready', 'task.escalated', 'lease.expired', 'system.anomaly')
);

-- Results also for the agent on whose behalf the work was done.
INSERT INTO inbox (tenant, principal, seq, created_at)
SELECT r.tenant, 'agent:' || t.principal_ai, r.seq, r.created_at
FROM receipts r
JOIN tasks_done t ON t.task_id = r.task_id AND t.tenant = r.tenant
WHERE r.receipt_type = 'task.result_ready' AND 'agent:' || t.principal_ai <> r."to";

DROP TABLE receipt_deliveries;
