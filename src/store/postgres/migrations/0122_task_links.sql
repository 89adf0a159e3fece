-- What the end of a task means for other tasks: those that wait for it, and those that are canceled with it. A link is
-- removed when it has been followed.
CREATE TABLE task_links (
  tenant  int      NOT NULL,
  -- Of the task whose end counts.
  seq     bigint   NOT NULL,
  task_id uuid     NOT NULL,
  -- The number of the wait; 0 for a child.
  n       int      NOT NULL,
  effect  text     COLLATE "C" NOT NULL CHECK (effect IN ('cancel', 'continue', 'part')),
  PRIMARY KEY (tenant, seq, task_id, n)
);

-- Ended tasks that may have links.
CREATE TABLE unsettled_tasks (
  tenant  int    NOT NULL,
  seq     bigint NOT NULL,
  task_id uuid   NOT NULL,
  PRIMARY KEY (tenant, seq)
);

-- Which task is part of which.
CREATE TABLE child_tasks (
  tenant  int    NOT NULL,
  parent  bigint NOT NULL,
  seq     bigint NOT NULL,
  task_id uuid   NOT NULL,
  PRIMARY KEY (tenant, parent, seq)
);

-- The number of children of a task, by what became of them.
CREATE TABLE child_counts (
  tenant    int    NOT NULL,
  parent    bigint NOT NULL,
  total     int    NOT NULL,
  succeeded int    NOT NULL,
  failed    int    NOT NULL,
  canceled  int    NOT NULL,
  PRIMARY KEY (tenant, parent)
);

ALTER TABLE task_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE task_links FORCE ROW LEVEL SECURITY;
CREATE POLICY task_links_of_tenants ON task_links
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE unsettled_tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE unsettled_tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY unsettled_tasks_of_tenants ON unsettled_tasks
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE child_tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE child_tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY child_tasks_of_tenants ON child_tasks
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));

ALTER TABLE child_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE child_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY child_counts_of_tenants ON child_counts
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
