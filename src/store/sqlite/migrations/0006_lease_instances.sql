-- Which process of the worker holds the lease, where it says so.
ALTER TABLE tasks ADD COLUMN instance_id TEXT;
