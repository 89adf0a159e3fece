-- Tasks may wait for an answer. SQLite cannot change a CHECK, so the table is made anew, with its rows and indexes.
ALTER TABLE tasks RENAME TO tasks_before;

-- Open tasks only, and only what changes or is needed to decide.
CREATE TABLE tasks (
  tenant                INTEGER NOT NULL,
  task_id               TEXT    NOT NULL,
  seq                   INTEGER NOT NULL,
  lane                  INTEGER NOT NULL,
  pool                  INTEGER NOT NULL,
  rank                  INTEGER NOT NULL,
  owner                 TEXT    NOT NULL,
  principal_ai          TEXT    NOT NULL,
  attempt               INTEGER NOT NULL,
  max_attempts          INTEGER NOT NULL,
  expiry_count          INTEGER NOT NULL,
  max_expiries          INTEGER NOT NULL,
  retry_backoff_seconds INTEGER NOT NULL,
  timeout_seconds       INTEGER,
  fence                 INTEGER NOT NULL,
  progress_count        INTEGER NOT NULL,
  -- The number of its newest question, for which it waits if it is parked.
  question_count        INTEGER NOT NULL,
  updated_at            INTEGER NOT NULL,
  status                TEXT    NOT NULL CHECK (status IN ('queued', 'leased', 'running', 'pending_approval', 'input_required')),
  -- Due time of a delayed task, expiry of a lease or of a question.
  wake_at               INTEGER,
  lease_id              TEXT,
  holder                TEXT,
  worker_id             TEXT,
  acquired_at           INTEGER,
  renewals              INTEGER,
  started_at            INTEGER,
  PRIMARY KEY (task_id, tenant),
  CHECK ((status IN ('leased', 'running')) = (lease_id IS NOT NULL)),
  CHECK (lease_id IS NULL OR (holder IS NOT NULL AND worker_id IS NOT NULL AND acquired_at IS NOT NULL
                              AND renewals IS NOT NULL AND wake_at IS NOT NULL)),
  CHECK ((status = 'running') = (started_at IS NOT NULL)),
  CHECK (status NOT IN ('pending_approval', 'input_required') OR question_count > 0)
) STRICT, WITHOUT ROWID;

INSERT INTO tasks
SELECT tenant, task_id, seq, lane, pool, rank, owner, principal_ai, attempt, max_attempts, expiry_count, max_expiries,
  retry_backoff_seconds, timeout_seconds, fence, progress_count, 0, updated_at, status, wake_at, lease_id, holder,
  worker_id, acquired_at, renewals, started_at
FROM tasks_before;

DROP TABLE tasks_before;

CREATE INDEX tasks_ready     ON tasks (tenant, lane, rank, seq) WHERE status = 'queued' AND wake_at IS NULL;
CREATE INDEX tasks_ready_any ON tasks (tenant, pool, rank, seq) WHERE status = 'queued' AND wake_at IS NULL;
CREATE INDEX tasks_wake      ON tasks (tenant, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_status    ON tasks (tenant, status, seq) WHERE status IS NOT NULL;

ALTER TABLE tasks_done ADD COLUMN question_count INTEGER NOT NULL DEFAULT 0;

-- What a rule said about the task.
ALTER TABLE task_specs ADD COLUMN policy TEXT;

-- What tasks waited for and wait for. A question is decided once.
CREATE TABLE questions (
  tenant      INTEGER NOT NULL,
  task_id     TEXT    NOT NULL,
  n           INTEGER NOT NULL,
  kind        TEXT    NOT NULL CHECK (kind IN ('approval', 'input')),
  -- Of its question.asked receipt.
  seq         INTEGER NOT NULL,
  asked_by    TEXT    NOT NULL,
  asked_at    INTEGER NOT NULL,
  lease_id    TEXT,
  expires_at  INTEGER,
  not_before  INTEGER,
  request     TEXT    NOT NULL,
  state       TEXT    NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'answered', 'expired', 'withdrawn')),
  decided_by  TEXT,
  decided_at  INTEGER,
  -- Of its question.answered receipt.
  decided_seq INTEGER,
  answer      TEXT,
  PRIMARY KEY (task_id, tenant, n),
  CHECK ((state = 'open') = (decided_by IS NULL)),
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK ((state = 'open') = (decided_seq IS NULL)),
  CHECK (state <> 'open' OR answer IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX questions_open ON questions (tenant, kind, seq) WHERE state = 'open';
CREATE INDEX questions_all  ON questions (tenant, kind, seq);
