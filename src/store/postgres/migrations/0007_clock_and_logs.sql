-- By how much the gate's time was ahead of the server's clock when the clock showed `since`. One row at most, and none
-- as long as the clock was never set back.
CREATE TABLE clock_lead (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  ahead bigint  NOT NULL,
  since bigint  NOT NULL
);

-- What workers log about tasks, numbered from 1. `total` is the size of all lines up to this one, in bytes.
CREATE TABLE task_logs (
  tenant   int     NOT NULL,
  task_id  uuid    NOT NULL,
  n        int     NOT NULL,
  at       bigint  NOT NULL,
  lease_id uuid    NOT NULL,
  level    text    COLLATE "C" NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  text     text    NOT NULL,
  context  text,
  total    bigint  NOT NULL,
  -- The log was full: nothing comes after this line.
  is_last  boolean NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
);

ALTER TABLE task_logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE task_logs FORCE ROW LEVEL SECURITY;
CREATE POLICY task_logs_of_tenants ON task_logs
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
