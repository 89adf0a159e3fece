-- Each lane counts its open tasks, so that the number of an empty one can be given to another. None of these columns is
-- in an index: they change with every batch, and the updates are to stay in place.
ALTER TABLE lanes
  ADD COLUMN tasks   int    NOT NULL DEFAULT 0,
  -- Whose limit the lane counts towards, and how many tasks must leave until it no longer does.
  ADD COLUMN owner   text,
  ADD COLUMN owned   int    NOT NULL DEFAULT 0,
  -- lanes_version of the tenant when the lane last changed.
  ADD COLUMN version bigint NOT NULL DEFAULT 1;

-- Counts the batches that changed lanes.
ALTER TABLE tenants ADD COLUMN lanes_version bigint NOT NULL DEFAULT 0;

-- Row-level security binds the owner of the tables too, so the tenants to be changed must be named.
SELECT set_config('asyncgate.tenants', coalesce((SELECT array_agg(tenant)::text FROM tenants), ''), true);

UPDATE tenants SET lanes_version = 1 WHERE lanes > 0;

UPDATE lanes l SET tasks = c.tasks
FROM (
  SELECT tenant, lane, count(*) AS tasks FROM tasks GROUP BY tenant, lane
  UNION ALL SELECT tenant, pool, count(*) FROM tasks GROUP BY tenant, pool
) c
WHERE c.tenant = l.tenant AND c.lane = l.lane;

UPDATE lanes l SET owner = o.owner, owned = o.owned
FROM (
  SELECT tenant, lane, owner, count(*) AS owned, row_number() OVER (PARTITION BY tenant, lane ORDER BY owner) AS n
  FROM tasks GROUP BY tenant, lane, owner
) o
WHERE o.tenant = l.tenant AND o.lane = l.lane AND o.n = 1;

UPDATE lanes SET mark = NULL WHERE tasks = 0;
