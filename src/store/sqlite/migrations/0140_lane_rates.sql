-- Tasks whose type limits how many leases start in a window have separate lanes.
-- What the rate applies to, a JSON array of the type and the value of the key; null for most lanes.
ALTER TABLE lanes ADD COLUMN rated TEXT;
-- The rate and its window, a JSON array: limit, seconds, the beginning of the window, the leases started in it.
ALTER TABLE lanes ADD COLUMN rate TEXT;
