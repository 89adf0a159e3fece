import type { CHANGING_COLUMNS, DONE_COLUMNS, OPEN_COLUMNS } from '../rows.ts'
import type { Shape } from './columns.ts'

type Columns<Names extends readonly string[]> = Readonly<Record<Names[number], Shape[string]>>

export const TASK_KEY = { task_id: 'uuid', tenant: 'int' } as const satisfies Shape
export const SEQ_KEY = { tenant: 'int', seq: 'bigint' } as const satisfies Shape

const CORE = {
  tenant: 'int',
  task_id: 'uuid',
  seq: 'bigint',
  lane: 'int',
  pool: 'int',
  rank: 'bigint',
  owner: 'text',
  principal_ai: 'text',
  attempt: 'int',
  max_attempts: 'int',
  expiry_count: 'int',
  max_expiries: 'int',
  retry_backoff_seconds: 'int',
  timeout_seconds: 'int',
  deadline_at: 'bigint',
  input_length: 'int',
  fence: 'int',
  progress_count: 'int',
  question_count: 'int',
  updated_at: 'bigint',
} as const satisfies Shape

export const OPEN = {
  ...CORE,
  status: 'text',
  wake_at: 'bigint',
  lease_id: 'uuid',
  holder: 'text',
  worker_id: 'text',
  instance_id: 'text',
  acquired_at: 'bigint',
  renewals: 'int',
  started_at: 'bigint',
} as const satisfies Columns<typeof OPEN_COLUMNS>

export const CHANGING = {
  attempt: 'int',
  expiry_count: 'int',
  fence: 'int',
  progress_count: 'int',
  question_count: 'int',
  updated_at: 'bigint',
  status: 'text',
  wake_at: 'bigint',
  lease_id: 'uuid',
  holder: 'text',
  worker_id: 'text',
  instance_id: 'text',
  acquired_at: 'bigint',
  renewals: 'int',
  started_at: 'bigint',
} as const satisfies Columns<typeof CHANGING_COLUMNS>

/** What evidence that comes late changes. */
export const REPAIR = {
  result: 'text',
  artifacts: 'text',
  delivery_proof: 'text',
  receipt_seq: 'bigint',
  obligation_open: 'boolean',
  updated_at: 'bigint',
} as const satisfies Shape

export const DONE = {
  ...CORE,
  status: 'text',
  lease_id: 'uuid',
  holder: 'text',
  worker_id: 'text',
  started_at: 'bigint',
  completed_at: 'bigint',
  result: 'text',
  error: 'text',
  artifacts: 'text',
  delivery_proof: 'text',
  receipt_seq: 'bigint',
  obligation_open: 'boolean',
  dead_letter: 'boolean',
} as const satisfies Columns<typeof DONE_COLUMNS>

export const SPEC = {
  tenant: 'int',
  seq: 'bigint',
  task_id: 'uuid',
  owner: 'text',
  type: 'text',
  priority: 'int',
  session_id: 'text',
  labels: 'text',
  idempotency_key: 'text',
  created_at: 'bigint',
  instance: 'text',
  input: 'text',
  policy: 'text',
} as const satisfies Shape

export const RECEIPT = {
  tenant: 'int',
  seq: 'bigint',
  receipt_type: 'text',
  created_at: 'bigint',
  from: 'text',
  to: 'text',
  task_id: 'uuid',
  lease_id: 'uuid',
  schedule_id: 'text',
  body: 'text',
  hash: 'text',
  instance: 'text',
} as const satisfies Shape

export const PARENT = { tenant: 'int', child: 'bigint', parent: 'bigint' } as const satisfies Shape

export const OBLIGATION = {
  tenant: 'int',
  principal: 'text',
  seq: 'bigint',
  task_id: 'uuid',
} as const satisfies Shape

export const OWNER = {
  tenant: 'int',
  owner: 'text',
  last_rank: 'bigint',
  weight: 'float8',
} as const satisfies Shape

export const LANE_KEY = { tenant: 'int', lane: 'int' } as const satisfies Shape

/** What tasks that come and go change. */
export const LANE_STATE = {
  mark: 'bigint',
  tasks: 'int',
  owner: 'text',
  owned: 'int',
  version: 'bigint',
} as const satisfies Shape

export const LANE = {
  ...LANE_KEY,
  type: 'text',
  capabilities: 'text',
  priority: 'int',
  ...LANE_STATE,
} as const satisfies Shape

export const LOG_LINE = {
  tenant: 'int',
  task_id: 'uuid',
  n: 'int',
  at: 'bigint',
  lease_id: 'uuid',
  level: 'text',
  text: 'text',
  context: 'text',
  total: 'bigint',
  is_last: 'boolean',
} as const

export const PROGRESS = {
  tenant: 'int',
  task_id: 'uuid',
  n: 'int',
  at: 'bigint',
  lease_id: 'uuid',
  progress: 'text',
} as const satisfies Shape

export const RELATIONSHIP = {
  tenant: 'int',
  principal: 'text',
  instance_id: 'text',
  first_seen_at: 'bigint',
  last_seen_at: 'bigint',
  sessions_count: 'int',
  agent_version: 'text',
  client_capabilities: 'text',
  instances: 'text',
} as const satisfies Shape

export const ITEM_KEY = { tenant: 'int', principal: 'text', seq: 'bigint' } as const satisfies Shape

export const FILED = { ...ITEM_KEY, created_at: 'bigint' } as const satisfies Shape

export const ITEM_MARKS = {
  delivered_at: 'bigint',
  delivery_count: 'int',
  read_at: 'bigint',
  fetched_at: 'bigint',
  promoted_at: 'bigint',
  archived_at: 'bigint',
} as const satisfies Shape

export const ITEM = { ...FILED, ...ITEM_MARKS } as const satisfies Shape

export const QUESTION_KEY = { task_id: 'uuid', tenant: 'int', n: 'int' } as const satisfies Shape

/** What a decision changes. */
export const VERDICT = {
  state: 'text',
  decided_by: 'text',
  decided_at: 'bigint',
  decided_seq: 'bigint',
  answer: 'text',
  content_hash: 'text',
} as const satisfies Shape

export const QUESTION = {
  ...QUESTION_KEY,
  kind: 'text',
  seq: 'bigint',
  asked_by: 'text',
  asked_at: 'bigint',
  lease_id: 'uuid',
  expires_at: 'bigint',
  not_before: 'bigint',
  request: 'text',
  ...VERDICT,
} as const satisfies Shape
