-- Tasks whose number of concurrent leases is limited have separate lanes: one for each value of their key.
-- What is limited, a JSON array of the type and the value of the key; null for most lanes.
ALTER TABLE lanes ADD COLUMN limited text;
-- The maximum number of leases of all lanes of the same value.
ALTER TABLE lanes ADD COLUMN max_held int;
-- The leases of the tasks in the lane; 0 in lanes without a limit.
ALTER TABLE lanes ADD COLUMN held int NOT NULL DEFAULT 0;
