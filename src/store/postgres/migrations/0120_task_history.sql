-- What became of the tasks of a tenant in each minute and each hour, for charts. `step` is the length of the period in
-- seconds. wait_N and run_N count the tasks whose wait, or run, fell into the Nth range of durations.
CREATE TABLE task_history (
  tenant    int NOT NULL,
  step      int NOT NULL CHECK (step IN (60, 3600)),
  at        bigint NOT NULL,
  created   bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed    bigint NOT NULL,
  canceled  bigint NOT NULL,
  wait_0    bigint NOT NULL,
  wait_1    bigint NOT NULL,
  wait_2    bigint NOT NULL,
  wait_3    bigint NOT NULL,
  wait_4    bigint NOT NULL,
  wait_5    bigint NOT NULL,
  wait_6    bigint NOT NULL,
  wait_7    bigint NOT NULL,
  wait_8    bigint NOT NULL,
  wait_9    bigint NOT NULL,
  wait_10   bigint NOT NULL,
  wait_11   bigint NOT NULL,
  wait_12   bigint NOT NULL,
  wait_13   bigint NOT NULL,
  wait_14   bigint NOT NULL,
  run_0     bigint NOT NULL,
  run_1     bigint NOT NULL,
  run_2     bigint NOT NULL,
  run_3     bigint NOT NULL,
  run_4     bigint NOT NULL,
  run_5     bigint NOT NULL,
  run_6     bigint NOT NULL,
  run_7     bigint NOT NULL,
  run_8     bigint NOT NULL,
  run_9     bigint NOT NULL,
  run_10    bigint NOT NULL,
  run_11    bigint NOT NULL,
  run_12    bigint NOT NULL,
  run_13    bigint NOT NULL,
  run_14    bigint NOT NULL,
  PRIMARY KEY (tenant, step, at)
);

ALTER TABLE task_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE task_history FORCE ROW LEVEL SECURITY;
CREATE POLICY task_history_of_tenants ON task_history
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
