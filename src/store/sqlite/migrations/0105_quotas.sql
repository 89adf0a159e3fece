-- For quotas: the tasks that have ended, and the size of the bodies of receipts since this migration.
ALTER TABLE tenants ADD COLUMN ended_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN receipt_bytes INTEGER NOT NULL DEFAULT 0;

UPDATE tenants SET ended_tasks = (SELECT count(*) FROM tasks_done WHERE tasks_done.tenant = tenants.tenant);
