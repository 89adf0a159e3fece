-- What the end of a task means for other tasks: those that wait for it, and those that are canceled with it. A link is
-- removed when it has been followed.
CREATE TABLE task_links (
  tenant  INTEGER NOT NULL,
  -- Of the task whose end counts.
  seq     INTEGER NOT NULL,
  task_id TEXT    NOT NULL,
  -- The number of the wait; 0 for a child.
  n       INTEGER NOT NULL,
  effect  TEXT    NOT NULL CHECK (effect IN ('cancel', 'continue', 'part')),
  PRIMARY KEY (tenant, seq, task_id, n)
) STRICT, WITHOUT ROWID;

-- Ended tasks that may have links.
CREATE TABLE unsettled_tasks (
  tenant  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  task_id TEXT    NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

-- Which task is part of which.
CREATE TABLE child_tasks (
  tenant  INTEGER NOT NULL,
  parent  INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  task_id TEXT    NOT NULL,
  PRIMARY KEY (tenant, parent, seq)
) STRICT, WITHOUT ROWID;

-- The number of children of a task, by what became of them.
CREATE TABLE child_counts (
  tenant    INTEGER NOT NULL,
  parent    INTEGER NOT NULL,
  total     INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  canceled  INTEGER NOT NULL,
  PRIMARY KEY (tenant, parent)
) STRICT, WITHOUT ROWID;
