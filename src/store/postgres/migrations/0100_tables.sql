-- Times are milliseconds since the epoch. A tenant is a small number; its name is in `tenants`. The seq of a task is that
-- of its task.assigned receipt. docs/adr/0017-storage-layout.md says why the tables are as they are, and which of them
-- serves which read.
--
-- Statements give the whole key, row by row: with the tenant alone, the planner starts from all rows of the tenant as
-- long as it believes the table to be small. Text in keys has the collation "C", since it is only compared.

-- Locked and updated once per batch: the room on its pages keeps the updates in place.
CREATE TABLE tenants (
  tenant        int    GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          text   COLLATE "C" NOT NULL UNIQUE,
  salt          text   NOT NULL,
  seq           bigint NOT NULL DEFAULT 0,
  clock         bigint NOT NULL DEFAULT 0,
  open_tasks    int    NOT NULL DEFAULT 0,
  active_leases int    NOT NULL DEFAULT 0,
  lanes         int    NOT NULL DEFAULT 0,
  -- Counts the batches that changed lanes.
  lanes_version bigint NOT NULL DEFAULT 0,
  -- Time of the last commit: the clock never runs behind it.
  committed_at  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Fair turns: the rank of each owner's newest task.
CREATE TABLE owners (
  tenant    int    NOT NULL,
  owner     text   COLLATE "C" NOT NULL,
  last_rank bigint NOT NULL,
  weight    double precision NOT NULL,
  PRIMARY KEY (tenant, owner)
) WITH (fillfactor = 50);

-- Tasks that share type, capabilities and priority form a lane. Without a type it is a pool, for workers that take any.
-- None of the columns that change with every batch is in an index: the updates are to stay in place.
CREATE TABLE lanes (
  tenant       int    NOT NULL,
  lane         int    NOT NULL,
  type         text,
  capabilities text   NOT NULL,
  priority     int    NOT NULL,
  -- No ready task of the lane has a lower rank; null: none is ready.
  mark         bigint,
  -- Open tasks: the number of an empty lane can be given to another.
  tasks        int    NOT NULL,
  -- Whose limit the lane counts towards, and how many tasks must leave until it no longer does.
  owner        text,
  owned        int    NOT NULL,
  -- lanes_version of the tenant when the lane last changed.
  version      bigint NOT NULL,
  PRIMARY KEY (tenant, lane)
) WITH (fillfactor = 50);

CREATE INDEX lanes_pools ON lanes (tenant, lane) WHERE type IS NULL;

-- What was asked for. Written once.
CREATE TABLE tasks (
  tenant          int    NOT NULL,
  seq             bigint NOT NULL,
  owner           text   COLLATE "C" NOT NULL,
  created_at      bigint NOT NULL,
  session_id      text   COLLATE "C",
  idempotency_key text   COLLATE "C",
  -- JSON array of the fields that no index needs.
  head            text   NOT NULL,
  input           text   NOT NULL,
  PRIMARY KEY (tenant, seq)
);

CREATE INDEX tasks_session ON tasks (tenant, session_id, seq) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX tasks_key ON tasks (tenant, owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Open tasks: what indexes need, and the task itself in `state`, a JSON array.
CREATE TABLE tasks_live (
  tenant      int      NOT NULL,
  -- 1: waits for an approval, 2: waits for input, 0: neither. Parked tasks are listed apart from the others.
  parked      smallint NOT NULL,
  seq         bigint   NOT NULL,
  -- 1: leased, 2: running, 3: queued, 4: pending_approval, 5: input_required.
  status      smallint NOT NULL CHECK (status BETWEEN 1 AND 5),
  lane        int      NOT NULL,
  pool        int      NOT NULL,
  rank        bigint   NOT NULL,
  owner       text     COLLATE "C" NOT NULL,
  -- Due time of a delayed task, expiry of a lease or of a question.
  wake_at     bigint,
  deadline_at bigint,
  state       text     NOT NULL,
  PRIMARY KEY (tenant, parked, seq),
  CHECK (status >= 3 OR wake_at IS NOT NULL),
  CHECK (parked = greatest(status - 3, 0))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- Each index can be used only by a statement that repeats its condition. Conditions that always hold are there for
-- that alone: on a table that it believes to be small the planner may prefer any index that begins with the tenant,
-- and would keep reading all tasks of the tenant when there are a million.
CREATE INDEX tasks_ready     ON tasks_live (tenant, lane, rank, seq) WHERE status = 3 AND wake_at IS NULL AND lane > 0;
CREATE INDEX tasks_ready_any ON tasks_live (tenant, pool, rank, seq) WHERE status = 3 AND wake_at IS NULL AND pool > 0;
-- Leases, by when they expire. Apart from the other tasks that wait for a time, which can be very many.
CREATE INDEX tasks_leased    ON tasks_live (tenant, wake_at, seq) WHERE status <= 2;
CREATE INDEX tasks_waiting   ON tasks_live (tenant, wake_at) WHERE status > 2 AND wake_at IS NOT NULL;
-- A ready task has no wake_at, so a sweep finds its deadline here. Tasks without a deadline cost nothing.
CREATE INDEX tasks_deadline  ON tasks_live (tenant, deadline_at) WHERE deadline_at IS NOT NULL AND wake_at IS NULL;
-- What owners are owed.
CREATE INDEX tasks_owed      ON tasks_live (tenant, owner, seq) WHERE seq > 0;

-- Terminal tasks, so that they never weigh on the open ones.
CREATE TABLE tasks_done (
  tenant  int      NOT NULL,
  -- 1: succeeded, 2: failed, 3: canceled.
  status  smallint NOT NULL CHECK (status BETWEEN 1 AND 3),
  seq     bigint   NOT NULL,
  state   text     NOT NULL,
  result  text,
  -- JSON array of error, artifacts and delivery_proof.
  details text,
  PRIMARY KEY (tenant, status, seq)
);

-- The seqs of the tasks of an owner, one row per commit.
CREATE TABLE owned_tasks (
  tenant    int    NOT NULL,
  principal text   COLLATE "C" NOT NULL,
  first     bigint NOT NULL,
  -- Distances from the first.
  seqs      text   NOT NULL,
  PRIMARY KEY (tenant, principal, first)
);

CREATE TABLE task_progress (
  tenant   int    NOT NULL,
  task_id  uuid   NOT NULL,
  n        int    NOT NULL,
  at       bigint NOT NULL,
  lease_id uuid   NOT NULL,
  progress text   NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
);

-- What tasks waited for and wait for. A question is decided once.
CREATE TABLE questions (
  tenant       int    NOT NULL,
  task_id      uuid   NOT NULL,
  n            int    NOT NULL,
  kind         text   COLLATE "C" NOT NULL CHECK (kind IN ('approval', 'input')),
  -- Of its question.asked receipt.
  seq          bigint NOT NULL,
  asked_by     text   COLLATE "C" NOT NULL,
  asked_at     bigint NOT NULL,
  lease_id     uuid,
  expires_at   bigint,
  not_before   bigint,
  request      text   NOT NULL,
  state        text   COLLATE "C" NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'answered', 'expired', 'withdrawn')),
  decided_by   text   COLLATE "C",
  decided_at   bigint,
  -- Of its question.answered receipt.
  decided_seq  bigint,
  answer       text,
  -- The hash of what the question asks and of everything that the worker will get.
  content_hash text,
  PRIMARY KEY (task_id, tenant, n),
  CHECK ((state = 'open') = (decided_by IS NULL)),
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK ((state = 'open') = (decided_seq IS NULL)),
  CHECK (state <> 'open' OR answer IS NULL)
);

CREATE INDEX questions_open ON questions (tenant, kind, seq) WHERE state = 'open';
CREATE INDEX questions_all  ON questions (tenant, kind, seq) WHERE seq > 0;

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

-- Append-only. Consecutive receipts that one commit wrote. Rows are made to fit on a page: what the server would move
-- out of the row, and compress, would be two more index entries and time.
CREATE TABLE ledger (
  tenant     int    NOT NULL,
  first      bigint NOT NULL,
  created_at bigint NOT NULL,
  instance   text   NOT NULL,
  receipts   text   STORAGE EXTERNAL NOT NULL,
  PRIMARY KEY (tenant, first)
) WITH (toast_tuple_target = 8160);

-- The seqs of the receipts to a principal, one row per commit.
CREATE TABLE addressed_receipts (
  tenant    int    NOT NULL,
  principal text   COLLATE "C" NOT NULL,
  first     bigint NOT NULL,
  seqs      text   NOT NULL,
  PRIMARY KEY (tenant, principal, first)
);

-- Receipts of a task that its row does not name.
CREATE TABLE task_receipts (
  tenant  int    NOT NULL,
  task_id uuid   NOT NULL,
  seq     bigint NOT NULL,
  PRIMARY KEY (task_id, tenant, seq)
);

-- Receipts that name a parent and are not found through the task of that parent.
CREATE TABLE receipt_children (
  tenant       int    NOT NULL,
  parent       bigint NOT NULL,
  child        bigint NOT NULL,
  receipt_type text   COLLATE "C" NOT NULL,
  "from"       text   COLLATE "C" NOT NULL,
  PRIMARY KEY (parent, tenant, child)
);

-- Open obligations that no row of tasks_live stands for, by who is owed.
CREATE TABLE open_obligations (
  tenant    int    NOT NULL,
  principal text   COLLATE "C" NOT NULL,
  seq       bigint NOT NULL,
  task_id   uuid   NOT NULL,
  PRIMARY KEY (tenant, principal, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- The seqs of unread items of an inbox. An item leaves when it is read or archived.
CREATE TABLE inbox_unread (
  tenant     int    NOT NULL,
  principal  text   COLLATE "C" NOT NULL,
  first      bigint NOT NULL,
  created_at bigint NOT NULL,
  seqs       text   NOT NULL,
  PRIMARY KEY (tenant, principal, first)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Items of inboxes that have a mark. Times are set once; `seq` is that of the receipt.
CREATE TABLE inbox (
  tenant         int    NOT NULL,
  principal      text   COLLATE "C" NOT NULL,
  seq            bigint NOT NULL,
  created_at     bigint NOT NULL,
  delivered_at   bigint,
  delivery_count int    NOT NULL,
  read_at        bigint,
  fetched_at     bigint,
  promoted_at    bigint,
  archived_at    bigint,
  PRIMARY KEY (tenant, principal, seq),
  CHECK ((delivered_at IS NULL) = (delivery_count = 0)),
  CHECK (read_at IS NOT NULL OR (fetched_at IS NULL AND promoted_at IS NULL))
);

CREATE TABLE relationships (
  tenant              int    NOT NULL,
  principal           text   COLLATE "C" NOT NULL,
  instance_id         text,
  first_seen_at       bigint NOT NULL,
  last_seen_at        bigint NOT NULL,
  sessions_count      int    NOT NULL,
  agent_version       text,
  -- RFC 8785 text.
  client_capabilities text,
  -- RFC 8785 text: pairs of an instance's id and when it was last seen.
  instances           text,
  PRIMARY KEY (tenant, principal)
);

-- Records beside the tasks, by kind and name. `version` counts the writes of each.
CREATE TABLE entries (
  tenant  int    NOT NULL,
  kind    text   COLLATE "C" NOT NULL,
  name    text   COLLATE "C" NOT NULL,
  version int    NOT NULL,
  value   text   NOT NULL,
  due_at  bigint,
  PRIMARY KEY (tenant, kind, name)
);

CREATE INDEX entries_due ON entries (tenant, kind, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE secrets (
  name  text  PRIMARY KEY,
  value bytea NOT NULL
);

-- By how much the gate's time was ahead of the server's clock when the clock showed `since`. One row at most, and none
-- as long as the clock was never set back.
CREATE TABLE clock_lead (
  one   boolean PRIMARY KEY DEFAULT true CHECK (one),
  ahead bigint  NOT NULL,
  since bigint  NOT NULL
);

-- Servers that follow the changes of others, each until that time on the server's clock. Changes are only put into
-- notifications while another server follows.
CREATE TABLE followers (
  server text   COLLATE "C" PRIMARY KEY,
  until  bigint NOT NULL
);

-- A row that should be there and is not must not be lost silently.
CREATE FUNCTION expect_rows(changed bigint, wanted int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> wanted THEN
    RAISE EXCEPTION 'of % rows to be changed only % are there', wanted, changed;
  END IF;
END
$$;

-- A session sees the rows of the tenants that it names in asyncgate.tenants, an array like '{1,2}', and without it
-- none. The statements name their tenants themselves; this stands behind them. It is an expression that no index
-- has, so that it only ever filters: as a condition of an index it would be searched for once per tenant and row.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY[
    'owners', 'lanes', 'tasks', 'tasks_live', 'tasks_done', 'owned_tasks', 'task_progress', 'questions', 'task_logs',
    'ledger', 'addressed_receipts', 'task_receipts', 'receipt_children', 'open_obligations', 'inbox_unread', 'inbox',
    'relationships', 'entries'
  ] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format($policy$
      CREATE POLICY %I ON %I
      USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]))
    $policy$, name || '_of_tenants', name);
  END LOOP;
END
$$;

-- Tenants are found by name, and made before they have a number.
ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenants FORCE ROW LEVEL SECURITY;
CREATE POLICY tenants_found ON tenants FOR SELECT USING (true);
CREATE POLICY tenants_made ON tenants FOR INSERT WITH CHECK (true);
CREATE POLICY tenants_changed ON tenants FOR UPDATE
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
