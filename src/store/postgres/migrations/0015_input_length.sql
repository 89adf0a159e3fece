-- The characters of the input of the task, which bounds what one claim hands out.
ALTER TABLE tasks ADD COLUMN input_length int NOT NULL DEFAULT 0;
ALTER TABLE tasks_done ADD COLUMN input_length int NOT NULL DEFAULT 0;
UPDATE tasks SET input_length = coalesce(
  (SELECT length(s.input) FROM task_specs s WHERE s.tenant = tasks.tenant AND s.seq = tasks.seq), 0
);
