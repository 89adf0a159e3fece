import type { Shape } from './columns.ts'

export const TASK_KEY = { task_id: 'uuid', tenant: 'int' } as const satisfies Shape
export const SEQ_KEY = { tenant: 'int', seq: 'bigint' } as const satisfies Shape

export const TASK = {
  tenant: 'int',
  seq: 'bigint',
  owner: 'text',
  created_at: 'bigint',
  session_id: 'text',
  idempotency_key: 'text',
  head: 'text',
  input: 'text',
} as const satisfies Shape

export const LIVE_KEY = { tenant: 'int', parked: 'smallint', seq: 'bigint' } as const satisfies Shape

export const LIVE = {
  ...LIVE_KEY,
  status: 'smallint',
  lane: 'int',
  pool: 'int',
  rank: 'bigint',
  owner: 'text',
  wake_at: 'bigint',
  deadline_at: 'bigint',
  state: 'text',
} as const satisfies Shape

/** What is read of it. */
export const LIVE_STATE = {
  tenant: 'int',
  seq: 'bigint',
  status: 'smallint',
  state: 'text',
} as const satisfies Shape

export const DONE_KEY = { tenant: 'int', status: 'smallint', seq: 'bigint' } as const satisfies Shape

export const OUTCOME = { state: 'text', result: 'text', details: 'text' } as const satisfies Shape

export const DONE = { ...DONE_KEY, ...OUTCOME } as const satisfies Shape

export const DONE_INSERT = { ...DONE, expires_at: 'bigint' } as const satisfies Shape

export const SEGMENT = {
  tenant: 'int',
  first: 'bigint',
  created_at: 'bigint',
  instance: 'text',
  receipts: 'text',
} as const satisfies Shape

export const SEQ_LIST = {
  tenant: 'int',
  principal: 'text',
  first: 'bigint',
  seqs: 'text',
} as const satisfies Shape

export const UNREAD_KEY = { tenant: 'int', principal: 'text', first: 'bigint' } as const satisfies Shape

export const UNREAD = { ...UNREAD_KEY, created_at: 'bigint', seqs: 'text' } as const satisfies Shape

export const TASK_RECEIPT = { tenant: 'int', task_id: 'uuid', seq: 'bigint' } as const satisfies Shape

export const CHILD = {
  tenant: 'int',
  parent: 'bigint',
  child: 'bigint',
  receipt_type: 'text',
  from: 'text',
} as const satisfies Shape

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
  max_held: 'int',
  held: 'int',
  rate: 'text',
} as const satisfies Shape

export const LANE = {
  ...LANE_KEY,
  type: 'text',
  capabilities: 'text',
  priority: 'int',
  limited: 'text',
  rated: 'text',
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

export const ITEM_MARKS = {
  delivered_at: 'bigint',
  delivery_count: 'int',
  read_at: 'bigint',
  fetched_at: 'bigint',
  promoted_at: 'bigint',
  archived_at: 'bigint',
} as const satisfies Shape

export const ITEM = { ...ITEM_KEY, created_at: 'bigint', ...ITEM_MARKS } as const satisfies Shape

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

export const AUDIT_ROW = {
  tenant: 'int',
  id: 'text',
  at: 'bigint',
  event: 'text',
  severity: 'text',
  outcome: 'text',
  principal: 'text',
  subject: 'text',
  reason: 'text',
  ip: 'text',
  user_agent: 'text',
  request_id: 'text',
  key_id: 'text',
  details: 'text',
} as const satisfies Shape

export const USAGE_COUNTS = {
  tasks: 'bigint',
  lease_ms: 'bigint',
  receipt_bytes: 'bigint',
  receipt_byte_seconds: 'bigint',
  calls: 'bigint',
} as const satisfies Shape

export const USAGE_EVENT = {
  tenant: 'int',
  id: 'text',
  from_at: 'bigint',
  to_at: 'bigint',
  instance: 'text',
  ...USAGE_COUNTS,
} as const satisfies Shape

export const TASK_LINK_KEY = {
  tenant: 'int',
  seq: 'bigint',
  task_id: 'uuid',
  n: 'int',
} as const satisfies Shape

export const TASK_LINK = { ...TASK_LINK_KEY, effect: 'text' } as const satisfies Shape

export const CHILD_TASK = {
  tenant: 'int',
  parent: 'bigint',
  seq: 'bigint',
  task_id: 'uuid',
} as const satisfies Shape

export const CHILD_COUNTS = {
  tenant: 'int',
  parent: 'bigint',
  total: 'int',
  succeeded: 'int',
  failed: 'int',
  canceled: 'int',
} as const satisfies Shape

export const UNSETTLED = { tenant: 'int', seq: 'bigint', task_id: 'uuid' } as const satisfies Shape
