-- Each lane counts its open tasks, so that the number of an empty one can be given to another.
ALTER TABLE lanes ADD COLUMN tasks INTEGER NOT NULL DEFAULT 0;
-- Whose limit the lane counts towards, and how many tasks must leave until it no longer does.
ALTER TABLE lanes ADD COLUMN owner TEXT;
ALTER TABLE lanes ADD COLUMN owned INTEGER NOT NULL DEFAULT 0;
-- lanes_version of the tenant when the lane last changed.
ALTER TABLE lanes ADD COLUMN version INTEGER NOT NULL DEFAULT 1;

-- Counts the batches that changed lanes.
ALTER TABLE tenants ADD COLUMN lanes_version INTEGER NOT NULL DEFAULT 0;
UPDATE tenants SET lanes_version = 1 WHERE lanes > 0;

UPDATE lanes SET tasks = c.tasks
FROM (
  SELECT tenant, lane, count(*) AS tasks FROM tasks GROUP BY tenant, lane
  UNION ALL SELECT tenant, pool, count(*) FROM tasks GROUP BY tenant, pool
) c
WHERE c.tenant = lanes.tenant AND c.lane = lanes.lane;

UPDATE lanes SET owner = o.owner, owned = o.owned
FROM (
  SELECT tenant, lane, owner, count(*) AS owned, row_number() OVER (PARTITION BY tenant, lane ORDER BY owner) AS n
  FROM tasks GROUP BY tenant, lane, owner
) o
WHERE o.tenant = lanes.tenant AND o.lane = lanes.lane AND o.n = 1;

UPDATE lanes SET mark = NULL WHERE tasks = 0;
