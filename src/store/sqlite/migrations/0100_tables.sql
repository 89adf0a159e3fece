-- Times are milliseconds since the epoch. A tenant is a small number; its name is in `tenants`. The seq of a task is that
-- of its task.assigned receipt. docs/adr/0017-storage-layout.md says why the tables are as they are, and which of them
-- serves which read.

CREATE TABLE tenants (
  tenant        INTEGER PRIMARY KEY,
  name          TEXT    NOT NULL UNIQUE,
  salt          TEXT    NOT NULL,
  seq           INTEGER NOT NULL DEFAULT 0,
  clock         INTEGER NOT NULL DEFAULT 0,
  open_tasks    INTEGER NOT NULL DEFAULT 0,
  active_leases INTEGER NOT NULL DEFAULT 0,
  lanes         INTEGER NOT NULL DEFAULT 0,
  -- Counts the batches that changed lanes.
  lanes_version INTEGER NOT NULL DEFAULT 0,
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
  -- Open tasks: the number of an empty lane can be given to another.
  tasks        INTEGER NOT NULL,
  -- Whose limit the lane counts towards, and how many tasks must leave until it no longer does.
  owner        TEXT,
  owned        INTEGER NOT NULL,
  -- lanes_version of the tenant when the lane last changed.
  version      INTEGER NOT NULL,
  PRIMARY KEY (tenant, lane)
) STRICT, WITHOUT ROWID;

CREATE INDEX lanes_pools ON lanes (tenant, lane) WHERE type IS NULL;

-- What was asked for. Written once.
CREATE TABLE tasks (
  tenant          INTEGER NOT NULL,
  seq             INTEGER NOT NULL,
  owner           TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  session_id      TEXT,
  idempotency_key TEXT,
  -- JSON array of the fields that no index needs.
  head            TEXT    NOT NULL,
  input           TEXT    NOT NULL,
  PRIMARY KEY (tenant, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_session ON tasks (tenant, session_id, seq) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX tasks_key ON tasks (tenant, owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Open tasks: what indexes need, and the task itself in `state`, a JSON array.
CREATE TABLE tasks_live (
  tenant      INTEGER NOT NULL,
  -- 1: waits for an approval, 2: waits for input, 0: neither. Parked tasks are listed apart from the others.
  parked      INTEGER NOT NULL CHECK (parked IN (0, 1, 2)),
  seq         INTEGER NOT NULL,
  -- 1: leased, 2: running, 3: queued, 4: pending_approval, 5: input_required.
  status      INTEGER NOT NULL CHECK (status BETWEEN 1 AND 5),
  lane        INTEGER NOT NULL,
  pool        INTEGER NOT NULL,
  rank        INTEGER NOT NULL,
  owner       TEXT    NOT NULL,
  -- Due time of a delayed task, expiry of a lease or of a question.
  wake_at     INTEGER,
  deadline_at INTEGER,
  state       TEXT    NOT NULL,
  PRIMARY KEY (tenant, parked, seq),
  CHECK (status >= 3 OR wake_at IS NOT NULL),
  CHECK (parked = max(status - 3, 0))
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_ready     ON tasks_live (tenant, lane, rank, seq) WHERE status = 3 AND wake_at IS NULL;
CREATE INDEX tasks_ready_any ON tasks_live (tenant, pool, rank, seq) WHERE status = 3 AND wake_at IS NULL;
-- Leases, by when they expire. Apart from the other tasks that wait for a time, which can be very many.
CREATE INDEX tasks_leased    ON tasks_live (tenant, wake_at, seq) WHERE status <= 2;
CREATE INDEX tasks_waiting   ON tasks_live (tenant, wake_at) WHERE status > 2 AND wake_at IS NOT NULL;
-- A ready task has no wake_at, so a sweep finds its deadline here. Tasks without a deadline cost nothing.
CREATE INDEX tasks_deadline  ON tasks_live (tenant, deadline_at) WHERE deadline_at IS NOT NULL AND wake_at IS NULL;
-- What owners are owed.
CREATE INDEX tasks_owed      ON tasks_live (tenant, owner, seq);

-- Terminal tasks, so that they never weigh on the open ones.
CREATE TABLE tasks_done (
  tenant  INTEGER NOT NULL,
  -- 1: succeeded, 2: failed, 3: canceled.
  status  INTEGER NOT NULL CHECK (status BETWEEN 1 AND 3),
  seq     INTEGER NOT NULL,
  state   TEXT    NOT NULL,
  result  TEXT,
  -- JSON array of error, artifacts and delivery_proof.
  details TEXT,
  PRIMARY KEY (tenant, status, seq)
) STRICT, WITHOUT ROWID;

-- The seqs of the tasks of an owner, one row per commit.
CREATE TABLE owned_tasks (
  tenant    INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  first     INTEGER NOT NULL,
  -- Distances from the first.
  seqs      TEXT    NOT NULL,
  PRIMARY KEY (tenant, principal, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_progress (
  tenant   INTEGER NOT NULL,
  task_id  TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  lease_id TEXT    NOT NULL,
  progress TEXT    NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
) STRICT, WITHOUT ROWID;

-- What tasks waited for and wait for. A question is decided once.
CREATE TABLE questions (
  tenant       INTEGER NOT NULL,
  task_id      TEXT    NOT NULL,
  n            INTEGER NOT NULL,
  kind         TEXT    NOT NULL CHECK (kind IN ('approval', 'input')),
  -- Of its question.asked receipt.
  seq          INTEGER NOT NULL,
  asked_by     TEXT    NOT NULL,
  asked_at     INTEGER NOT NULL,
  lease_id     TEXT,
  expires_at   INTEGER,
  not_before   INTEGER,
  request      TEXT    NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'answered', 'expired', 'withdrawn')),
  decided_by   TEXT,
  decided_at   INTEGER,
  -- Of its question.answered receipt.
  decided_seq  INTEGER,
  answer       TEXT,
  -- The hash of what the question asks and of everything that the worker will get.
  content_hash TEXT,
  PRIMARY KEY (task_id, tenant, n),
  CHECK ((state = 'open') = (decided_by IS NULL)),
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK ((state = 'open') = (decided_seq IS NULL)),
  CHECK (state <> 'open' OR answer IS NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX questions_open ON questions (tenant, kind, seq) WHERE state = 'open';
CREATE INDEX questions_all  ON questions (tenant, kind, seq);

-- What workers log about tasks, numbered from 1. `total` is the size of all lines up to this one, in bytes.
CREATE TABLE task_logs (
  tenant   INTEGER NOT NULL,
  task_id  TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  lease_id TEXT    NOT NULL,
  level    TEXT    NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
  text     TEXT    NOT NULL,
  context  TEXT,
  total    INTEGER NOT NULL,
  -- The log was full: nothing comes after this line.
  is_last  INTEGER NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
) STRICT, WITHOUT ROWID;

-- Append-only. Consecutive receipts that one commit wrote.
CREATE TABLE ledger (
  tenant     INTEGER NOT NULL,
  first      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  instance   TEXT    NOT NULL,
  receipts   TEXT    NOT NULL,
  PRIMARY KEY (tenant, first)
) STRICT, WITHOUT ROWID;

-- The seqs of the receipts to a principal, one row per commit.
CREATE TABLE addressed_receipts (
  tenant    INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  first     INTEGER NOT NULL,
  seqs      TEXT    NOT NULL,
  PRIMARY KEY (tenant, principal, first)
) STRICT, WITHOUT ROWID;

-- Receipts of a task that its row does not name.
CREATE TABLE task_receipts (
  tenant  INTEGER NOT NULL,
  task_id TEXT    NOT NULL,
  seq     INTEGER NOT NULL,
  PRIMARY KEY (tenant, task_id, seq)
) STRICT, WITHOUT ROWID;

-- Receipts that name a parent and are not found through the task of that parent.
CREATE TABLE receipt_children (
  tenant       INTEGER NOT NULL,
  parent       INTEGER NOT NULL,
  child        INTEGER NOT NULL,
  receipt_type TEXT    NOT NULL,
  "from"       TEXT    NOT NULL,
  PRIMARY KEY (tenant, parent, child)
) STRICT, WITHOUT ROWID;

-- Open obligations that no row of tasks_live stands for, by who is owed.
CREATE TABLE open_obligations (
  tenant    INTEGER NOT NULL,
  principal TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  task_id   TEXT    NOT NULL,
  PRIMARY KEY (tenant, principal, seq)
) STRICT, WITHOUT ROWID;

-- The seqs of unread items of an inbox. An item leaves when it is read or archived.
CREATE TABLE inbox_unread (
  tenant     INTEGER NOT NULL,
  principal  TEXT    NOT NULL,
  first      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  seqs       TEXT    NOT NULL,
  PRIMARY KEY (tenant, principal, first)
) STRICT, WITHOUT ROWID;

-- Items of inboxes that have a mark. Times are set once; `seq` is that of the receipt.
CREATE TABLE inbox (
  tenant         INTEGER NOT NULL,
  principal      TEXT    NOT NULL,
  seq            INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  delivered_at   INTEGER,
  delivery_count INTEGER NOT NULL,
  read_at        INTEGER,
  fetched_at     INTEGER,
  promoted_at    INTEGER,
  archived_at    INTEGER,
  PRIMARY KEY (tenant, principal, seq),
  CHECK ((delivered_at IS NULL) = (delivery_count = 0)),
  CHECK (read_at IS NOT NULL OR (fetched_at IS NULL AND promoted_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE relationships (
  tenant              INTEGER NOT NULL,
  principal           TEXT    NOT NULL,
  instance_id         TEXT,
  first_seen_at       INTEGER NOT NULL,
  last_seen_at        INTEGER NOT NULL,
  sessions_count      INTEGER NOT NULL,
  agent_version       TEXT,
  -- RFC 8785 text.
  client_capabilities TEXT,
  -- RFC 8785 text: pairs of an instance's id and when it was last seen.
  instances           TEXT,
  PRIMARY KEY (tenant, principal)
) STRICT, WITHOUT ROWID;

-- Records beside the tasks, by kind and name. `version` counts the writes of each.
CREATE TABLE entries (
  tenant  INTEGER NOT NULL,
  kind    TEXT    NOT NULL,
  name    TEXT    NOT NULL,
  version INTEGER NOT NULL,
  value   TEXT    NOT NULL,
  due_at  INTEGER,
  PRIMARY KEY (tenant, kind, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX entries_due ON entries (tenant, kind, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE secrets (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;
