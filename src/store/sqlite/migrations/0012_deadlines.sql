-- When the task as a whole has to have ended; null if it may take as long as it takes.
ALTER TABLE tasks ADD COLUMN deadline_at INTEGER;
ALTER TABLE tasks_done ADD COLUMN deadline_at INTEGER;

-- A ready task has no wake_at, so a sweep finds its deadline here. Tasks without a deadline cost nothing.
CREATE INDEX tasks_deadline ON tasks (tenant, deadline_at) WHERE deadline_at IS NOT NULL AND wake_at IS NULL;
