-- Tasks may wait for an answer. The checks have the names that the database gave them.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT conname FROM pg_constraint WHERE conrelid = 'tasks'::regclass AND contype = 'c' LOOP
    EXECUTE format('ALTER TABLE tasks DROP CONSTRAINT %I', name);
  END LOOP;
END
$$;

-- question_count is the number of its newest question, for which it waits if it is parked. wake_at is also the expiry
-- of a question.
ALTER TABLE tasks
  ADD COLUMN question_count int NOT NULL DEFAULT 0,
  ADD CHECK (status IN ('queued', 'leased', 'running', 'pending_approval', 'input_required')),
  ADD CHECK ((status IN ('leased', 'running')) = (lease_id IS NOT NULL)),
  ADD CHECK (lease_id IS NULL OR (holder IS NOT NULL AND worker_id IS NOT NULL AND acquired_at IS NOT NULL
                                  AND renewals IS NOT NULL AND wake_at IS NOT NULL)),
  ADD CHECK ((status = 'running') = (started_at IS NOT NULL)),
  ADD CHECK (status NOT IN ('pending_approval', 'input_required') OR question_count > 0);

ALTER TABLE tasks_done ADD COLUMN question_count int NOT NULL DEFAULT 0;

-- What a rule said about the task.
ALTER TABLE task_specs ADD COLUMN policy text;

-- What tasks waited for and wait for. A question is decided once.
CREATE TABLE questions (
  tenant      int    NOT NULL,
  task_id     uuid   NOT NULL,
  n           int    NOT NULL,
  kind        text   COLLATE "C" NOT NULL CHECK (kind IN ('approval', 'input')),
  -- Of its question.asked receipt.
  seq         bigint NOT NULL,
  asked_by    text   COLLATE "C" NOT NULL,
  asked_at    bigint NOT NULL,
  lease_id    uuid,
  expires_at  bigint,
  not_before  bigint,
  request     text   NOT NULL,
  state       text   COLLATE "C" NOT NULL CHECK (state IN ('open', 'approved', 'denied', 'answered', 'expired', 'withdrawn')),
  decided_by  text   COLLATE "C",
  decided_at  bigint,
  -- Of its question.answered receipt.
  decided_seq bigint,
  answer      text,
  PRIMARY KEY (task_id, tenant, n),
  CHECK ((state = 'open') = (decided_by IS NULL)),
  CHECK ((state = 'open') = (decided_at IS NULL)),
  CHECK ((state = 'open') = (decided_seq IS NULL)),
  CHECK (state <> 'open' OR answer IS NULL)
);

CREATE INDEX questions_open ON questions (tenant, kind, seq) WHERE state = 'open';
CREATE INDEX questions_all  ON questions (tenant, kind, seq) WHERE seq > 0;

ALTER TABLE questions ENABLE ROW LEVEL SECURITY;
ALTER TABLE questions FORCE ROW LEVEL SECURITY;
CREATE POLICY questions_of_tenants ON questions
  USING (tenant + 0 = ANY ((SELECT nullif(current_setting('asyncgate.tenants', true), '')::int[])::int[]));
