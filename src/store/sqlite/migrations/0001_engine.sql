-- Times are milliseconds since the epoch. A tenant is a small number; its name is in `tenants`.

CREATE TABLE tenants (
  tenant        INTEGER PRIMARY KEY,
  name          TEXT    NOT NULL UNIQUE,
  salt          TEXT    NOT NULL,
  seq           INTEGER NOT NULL DEFAULT 0,
  clock         INTEGER NOT NULL DEFAULT 0,
  open_tasks    INTEGER NOT NULL DEFAULT 0,
  active_leases INTEGER NOT NULL DEFAULT 0,
  lanes         INTEGER NOT NULL DEFAULT 0,
  -- Time of the last commit: the clock never runs behind it.
  committed_at  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Fair turns: the rank of each owner's newest task.
CREATE TABLE owners (
  tenant    INTEGER NOT NULL,
  owner     TEXT    NOT NULL,
  last_rank INTEGER NOT NULL,
  weight    REAL    NOT NULL,
  PRIMARY KEY (tenant, owner)
) STRICT, WITHOUT ROWID;

-- Tasks that share type, capabilities and priority form a lane. Without a type it is a pool, for workers that take any.
CREATE TABLE lanes (
  tenant       INTEGER NOT NULL,
  lane         INTEGER NOT NULL,
  type         TEXT,
  capabilities TEXT    NOT NULL,
  priority     INTEGER NOT NULL,
  -- No ready task of the lane has a lower rank; null: none is ready.
  mark         INTEGER,
  PRIMARY KEY (tenant, lane)
) STRICT, WITHOUT ROWID;

CREATE INDEX lanes_pools ON lanes (tenant, lane) WHERE type IS NULL;

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
  updated_at            INTEGER NOT NULL,
  status                TEXT    NOT NULL CHECK (status IN ('queued', 'leased', 'running')),
  -- Due time of a delayed task, expiry of a lease.
  wake_at               INTEGER,
  lease_id              TEXT,
  holder                TEXT,
  worker_id             TEXT,
  acquired_at           INTEGER,
  renewals              INTEGER,
  started_at            INTEGER,
  PRIMARY KEY (task_id, tenant),
  CHECK ((status = 'queued') = (lease_id IS NULL)),
  CHECK (status = 'queued' OR (holder IS NOT NULL AND worker_id IS NOT NULL AND acquired_at IS NOT NULL
                               AND renewals IS NOT NULL AND wake_at IS NOT NULL)),
  CHECK ((status = 'running') = (started_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_ready     ON tasks (tenant, lane, rank, seq) WHERE status = 'queued' AND wake_at IS NULL;
CREATE INDEX tasks_ready_any ON tasks (tenant, pool, rank, seq) WHERE status = 'queued' AND wake_at IS NULL;
CREATE INDEX tasks_wake      ON tasks (tenant, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_status    ON tasks (tenant, status, seq) WHERE status IS NOT NULL;

-- Terminal tasks, so that they never weigh on the open ones.
CREATE TABLE tasks_done (
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
  updated_at            INTEGER NOT NULL,
  status                TEXT    NOT NULL CHECK (status IN ('succeeded', 'failed', 'canceled')),
  lease_id              TEXT,
  holder                TEXT,
  worker_id             TEXT,
  started_at            INTEGER,
  completed_at          INTEGER NOT NULL,
  result                TEXT,
  error                 TEXT,
  artifacts             TEXT,
  delivery_proof        TEXT,
  receipt_seq           INTEGER NOT NULL,
  obligation_open       INTEGER NOT NULL CHECK (obligation_open IN (0, 1)),
  dead_letter           INTEGER NOT NULL CHECK (dead_letter IN (0, 1)),
  PRIMARY KEY (task_id, tenant),
  CHECK ((status = 'succeeded') = (error IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_done_status ON tasks_done (tenant, status, seq);

-- What was asked for. Written once; `seq` is that of the task.
CREATE TABLE task_specs (
  tenant          INTEGER NOT NULL,
  seq             INTEGER NOT NULL,
  task_id         TEXT    NOT NULL,
  owner           TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  priority        INTEGER NOT NULL,
  session_id      TEXT,
  labels          TEXT,
  idempotency_key TEXT,
  created_at      INTEGER NOT NULL,
  instance        TEXT    NOT NULL,
  input           TEXT    NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_specs_owner ON task_specs (tenant, owner, seq);
CREATE INDEX task_specs_session ON task_specs (tenant, session_id, seq) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX task_specs_key ON task_specs (tenant, owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE task_progress (
  tenant   INTEGER NOT NULL,
  task_id  TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  lease_id TEXT    NOT NULL,
  progress TEXT    NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
) STRICT, WITHOUT ROWID;

-- Append-only.
CREATE TABLE receipts (
  tenant       INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  receipt_type TEXT    NOT NULL,
  created_at   INTEGER NOT NULL,
  "from"       TEXT    NOT NULL,
  "to"         TEXT    NOT NULL,
  task_id      TEXT,
  lease_id     TEXT,
  schedule_id  TEXT,
  -- RFC 8785 text.
  body         TEXT    NOT NULL,
  hash         TEXT    NOT NULL,
  instance     TEXT    NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_task ON receipts (tenant, task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX receipts_to ON receipts (tenant, "to", seq);

CREATE TABLE receipt_parents (
  tenant INTEGER NOT NULL,
  child  INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  PRIMARY KEY (tenant, child, parent)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipt_parents_parent ON receipt_parents (tenant, parent, child);

-- When a receipt was first handed to the principal it is addressed to.
CREATE TABLE receipt_deliveries (
  tenant       INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  delivered_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

-- Receipts that no terminal receipt names yet, by who is owed.
CREATE TABLE open_obligations (
  tenant    INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  task_id   TEXT    NOT NULL,
  PRIMARY KEY (tenant, principal, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE relationships (
  tenant         INTEGER NOT NULL,
  principal      TEXT    NOT NULL,
  instance_id    TEXT,
  first_seen_at  INTEGER NOT NULL,
  last_seen_at   INTEGER NOT NULL,
  sessions_count INTEGER NOT NULL,
  PRIMARY KEY (tenant, principal)
) STRICT, WITHOUT ROWID;

CREATE TABLE secrets (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;
