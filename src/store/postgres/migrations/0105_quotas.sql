-- For quotas: the tasks that have ended, and the size of the bodies of receipts since this migration.
ALTER TABLE tenants ADD COLUMN ended_tasks bigint NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN receipt_bytes bigint NOT NULL DEFAULT 0;

-- The migration has to see the tasks of all tenants.
SELECT set_config('asyncgate.tenants', coalesce(array_agg(tenant)::text, '{}'), true) FROM tenants;
UPDATE tenants SET ended_tasks = (SELECT count(*) FROM tasks_done WHERE tasks_done.tenant = tenants.tenant);
