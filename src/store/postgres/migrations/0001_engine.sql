-- Times are milliseconds since the epoch. A tenant is a small number; its name is in `tenants`.
--
-- Tables that are looked up by id lead with the id: with the tenant first, the planner starts from all rows of the
-- tenant as long as it believes the table to be small. Text in keys has the collation "C", since it is only compared.

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
CREATE TABLE lanes (
  tenant       int    NOT NULL,
  lane         int    NOT NULL,
  type         text,
  capabilities text   NOT NULL,
  priority     int    NOT NULL,
  -- No ready task of the lane has a lower rank; null: none is ready.
  mark         bigint,
  PRIMARY KEY (tenant, lane)
) WITH (fillfactor = 50);

CREATE INDEX lanes_pools ON lanes (tenant, lane) WHERE type IS NULL;

-- Open tasks only, and only what changes or is needed to decide.
CREATE TABLE tasks (
  tenant                int    NOT NULL,
  task_id               uuid   NOT NULL,
  seq                   bigint NOT NULL,
  lane                  int    NOT NULL,
  pool                  int    NOT NULL,
  rank                  bigint NOT NULL,
  owner                 text   COLLATE "C" NOT NULL,
  principal_ai          text   NOT NULL,
  attempt               int    NOT NULL,
  max_attempts          int    NOT NULL,
  expiry_count          int    NOT NULL,
  max_expiries          int    NOT NULL,
  retry_backoff_seconds int    NOT NULL,
  timeout_seconds       int,
  fence                 int    NOT NULL,
  progress_count        int    NOT NULL,
  updated_at            bigint NOT NULL,
  status                text   COLLATE "C" NOT NULL CHECK (status IN ('queued', 'leased', 'running')),
  -- Due time of a delayed task, expiry of a lease.
  wake_at               bigint,
  lease_id              uuid,
  holder                text,
  worker_id             text,
  acquired_at           bigint,
  renewals              int,
  started_at            bigint,
  PRIMARY KEY (task_id, tenant),
  CHECK ((status = 'queued') = (lease_id IS NULL)),
  CHECK (status = 'queued' OR (holder IS NOT NULL AND worker_id IS NOT NULL AND acquired_at IS NOT NULL
                               AND renewals IS NOT NULL AND wake_at IS NOT NULL)),
  CHECK ((status = 'running') = (started_at IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

-- Each index can be used only by a statement that repeats its condition. Conditions that always hold are there for
-- that alone: on a table that it believes to be small the planner may prefer any index that begins with the tenant,
-- and would keep reading all tasks of the tenant when there are a million.
CREATE INDEX tasks_ready     ON tasks (tenant, lane, rank, seq) WHERE status = 'queued' AND wake_at IS NULL AND lane > 0;
CREATE INDEX tasks_ready_any ON tasks (tenant, pool, rank, seq) WHERE status = 'queued' AND wake_at IS NULL AND pool > 0;
CREATE INDEX tasks_wake      ON tasks (tenant, wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX tasks_status    ON tasks (tenant, status, seq) WHERE seq > 0;

-- Terminal tasks, so that they never weigh on the open ones.
CREATE TABLE tasks_done (
  tenant                int    NOT NULL,
  task_id               uuid   NOT NULL,
  seq                   bigint NOT NULL,
  lane                  int    NOT NULL,
  pool                  int    NOT NULL,
  rank                  bigint NOT NULL,
  owner                 text   COLLATE "C" NOT NULL,
  principal_ai          text   NOT NULL,
  attempt               int    NOT NULL,
  max_attempts          int    NOT NULL,
  expiry_count          int    NOT NULL,
  max_expiries          int    NOT NULL,
  retry_backoff_seconds int    NOT NULL,
  timeout_seconds       int,
  fence                 int    NOT NULL,
  progress_count        int    NOT NULL,
  updated_at            bigint NOT NULL,
  status                text   COLLATE "C" NOT NULL CHECK (status IN ('succeeded', 'failed', 'canceled')),
  lease_id              uuid,
  holder                text,
  worker_id             text,
  started_at            bigint,
  completed_at          bigint NOT NULL,
  result                text,
  error                 text,
  artifacts             text,
  delivery_proof        text,
  receipt_seq           bigint NOT NULL,
  obligation_open       boolean NOT NULL,
  dead_letter           boolean NOT NULL,
  PRIMARY KEY (task_id, tenant),
  CHECK ((status = 'succeeded') = (error IS NULL))
);

CREATE INDEX tasks_done_status ON tasks_done (tenant, status, seq) WHERE seq > 0;

-- What was asked for. Written once; `seq` is that of the task.
CREATE TABLE task_specs (
  tenant          int    NOT NULL,
  seq             bigint NOT NULL,
  task_id         uuid   NOT NULL,
  owner           text   COLLATE "C" NOT NULL,
  type            text   NOT NULL,
  priority        int    NOT NULL,
  session_id      text   COLLATE "C",
  labels          text,
  idempotency_key text   COLLATE "C",
  created_at      bigint NOT NULL,
  instance        text   NOT NULL,
  input           text   NOT NULL,
  PRIMARY KEY (tenant, seq)
);

CREATE INDEX task_specs_owner ON task_specs (tenant, owner, seq) WHERE seq > 0;
CREATE INDEX task_specs_session ON task_specs (tenant, session_id, seq) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX task_specs_key ON task_specs (tenant, owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE task_progress (
  tenant   int    NOT NULL,
  task_id  uuid   NOT NULL,
  n        int    NOT NULL,
  at       bigint NOT NULL,
  lease_id uuid   NOT NULL,
  progress text   NOT NULL,
  PRIMARY KEY (task_id, tenant, n)
);

-- Append-only.
CREATE TABLE receipts (
  tenant       int    NOT NULL,
  seq          bigint NOT NULL,
  receipt_type text   COLLATE "C" NOT NULL,
  created_at   bigint NOT NULL,
  "from"       text   COLLATE "C" NOT NULL,
  "to"         text   COLLATE "C" NOT NULL,
  task_id      uuid,
  lease_id     uuid,
  schedule_id  text,
  -- RFC 8785 text.
  body         text   NOT NULL,
  hash         text   NOT NULL,
  instance     text   NOT NULL,
  PRIMARY KEY (tenant, seq)
);

CREATE INDEX receipts_task ON receipts (tenant, task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX receipts_to ON receipts (tenant, "to", seq) WHERE seq > 0;

CREATE TABLE receipt_parents (
  tenant int    NOT NULL,
  child  bigint NOT NULL,
  parent bigint NOT NULL,
  PRIMARY KEY (child, tenant, parent)
);

CREATE INDEX receipt_parents_parent ON receipt_parents (parent, tenant, child);

-- When a receipt was first handed to the principal it is addressed to.
CREATE TABLE receipt_deliveries (
  tenant       int    NOT NULL,
  seq          bigint NOT NULL,
  delivered_at bigint NOT NULL,
  PRIMARY KEY (tenant, seq)
);

-- Receipts that no terminal receipt names yet, by who is owed.
CREATE TABLE open_obligations (
  tenant    int    NOT NULL,
  principal text   COLLATE "C" NOT NULL,
  seq       bigint NOT NULL,
  task_id   uuid   NOT NULL,
  PRIMARY KEY (tenant, principal, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE relationships (
  tenant         int    NOT NULL,
  principal      text   COLLATE "C" NOT NULL,
  instance_id    text,
  first_seen_at  bigint NOT NULL,
  last_seen_at   bigint NOT NULL,
  sessions_count int    NOT NULL,
  PRIMARY KEY (tenant, principal)
);

CREATE TABLE secrets (
  name  text  PRIMARY KEY,
  value bytea NOT NULL
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
    'owners', 'lanes', 'tasks', 'tasks_done', 'task_specs', 'task_progress', 'receipts', 'receipt_parents',
    'receipt_deliveries', 'open_obligations', 'relationships'
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
