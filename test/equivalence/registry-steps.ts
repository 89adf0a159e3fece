import { ALICE, BOB, ROOT } from './people.ts'
import { no, ok, type Step } from './step.ts'

const DIGEST = {
  ...ROOT,
  type: 'digest',
  description: 'Makes a digest of a page.',
  payload_schema: {
    type: 'object',
    required: ['page'],
    additionalProperties: false,
    properties: { page: { type: 'string', pattern: '^https:' }, words: { type: 'integer' } },
  },
  default_priority: 4,
  default_max_attempts: 3,
  default_retry_backoff_seconds: 7,
  default_timeout_seconds: 90,
  retention_days: 30,
  result_channel: 'inline',
  estimated_runtime_seconds: 60,
  poll_suggestion_seconds: 20,
  max_payload_bytes: 100,
  tool: { name: 'make_digest', wait_seconds: 5 },
}
const PAGE = { page: 'https://pages.example/1' }
const W9 = { worker_id: 'w9' }
const PRINT = {
  type: 'print',
  description: 'Prints.',
  input_schema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
}

/** Admins manage task types and workers. */
export const registrySteps: readonly Step[] = [
  ok('register_task_type', DIGEST, { type: 'digest', enabled: true, version: 1 }),
  ok('register_task_type', DIGEST, { version: 1 }),
  ok('register_task_type', { ...ROOT, type: 'other' }, { version: 1, tool: null }),
  no('register_task_type', { ...DIGEST, ...ALICE, principal_kind: 'agent' }, 'FORBIDDEN'),
  no('register_task_type', { ...DIGEST, payload_schema: { type: 'thing' } }, 'VALIDATION_ERROR'),
  no('register_task_type', { ...DIGEST, payload_schema: { $ref: 'https://x.example/' } }, 'VALIDATION_ERROR'),
  no('register_task_type', { ...ROOT, type: 'third', tool: { name: 'make_digest' } }, 'VALIDATION_ERROR'),
  ok('get_task_type', { ...BOB, type: 'digest' }, { retention_days: 30, tool: { name: 'make_digest' } }),
  no('get_task_type', { ...BOB, type: 'unheard of' }, 'TASK_TYPE_UNKNOWN'),
  ok('list_task_types', { ...BOB, limit: 1 }, { task_types: [{ type: 'digest' }] }, 'types'),
  ok(
    'list_task_types',
    { ...BOB, cursor: '$types.next_cursor' },
    { task_types: [{ type: 'other' }], next_cursor: null },
  ),
  no('list_task_types', { ...BOB, limit: 0 }, 'VALIDATION_ERROR'),

  ok(
    'create_task',
    { ...ALICE, type: 'digest', payload: PAGE, idempotency_key: 'digest' },
    { estimated_runtime_seconds: 60, poll_suggestion_seconds: 20 },
    'digest',
  ),
  ok('get_task', { ...ALICE, task_id: '$digest.task_id' }, { priority: 4, max_attempts: 3 }),
  no('create_task', { ...ALICE, type: 'digest', payload: { page: 'ftp:' } }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'digest' }, 'VALIDATION_ERROR'),
  no('create_task', { ...ALICE, type: 'digest', payload: { page: 'x'.repeat(100) } }, 'PAYLOAD_TOO_LARGE'),
  ok('register_task_type', { ...DIGEST, enabled: false }, { version: 2 }),
  no('create_task', { ...ALICE, type: 'digest', payload: PAGE }, 'TASK_TYPE_DISABLED'),
  ok(
    'create_task',
    { ...ALICE, type: 'digest', payload: PAGE, idempotency_key: 'digest' },
    { task_id: '$digest.task_id', is_duplicate: true },
  ),
  ok('remove_task_type', { ...ROOT, type: 'digest' }, { type: 'digest', removed: true }),
  ok('remove_task_type', { ...ROOT, type: 'digest' }, { removed: false }),
  no('remove_task_type', { ...BOB, type: 'other' }, 'FORBIDDEN'),
  ok('cancel_task', { ...ALICE, task_id: '$digest.task_id' }, { ok: true }),

  ok(
    'register_worker',
    {
      ...W9,
      ...{ worker_type: 'printer', version: '2.0', capabilities: ['ink'], accept_types: ['print'] },
      config: { dpi: 300 },
    },
    { ok: true },
  ),
  no('register_worker', { worker_type: 'printer' }, 'VALIDATION_ERROR'),
  ok('register_worker', { ...W9, accept_types: ['print'], task_types: [PRINT] }, { ok: true }),
  no('register_worker', { ...W9, task_types: [{ type: 'asyncgate' }] }, 'VALIDATION_ERROR'),
  no(
    'register_worker',
    { ...W9, task_types: [{ ...PRINT, input_schema: { $id: 'x' } }] },
    'VALIDATION_ERROR',
  ),
  ok(
    'get_task_type',
    { ...BOB, type: 'print' },
    { published_by: 'worker', payload_schema: PRINT.input_schema, output_schema: null, conflict: false },
  ),
  ok(
    'list_task_types',
    { ...BOB, query: 'PRI' },
    { task_types: [{ type: 'print', description: 'Prints.', published_by: 'worker' }], next_cursor: null },
  ),
  no('create_task', { ...ALICE, type: 'print', payload: { text: 1 } }, 'VALIDATION_ERROR'),
  no('register_worker', { ...W9, config: { text: 'x'.repeat(5000) } }, 'PAYLOAD_TOO_LARGE'),
  ok('list_workers', { ...BOB, limit: 1 }, { workers: [{}] }, 'workers'),
  ok('list_workers', { ...BOB, cursor: '$workers.next_cursor' }, { next_cursor: null }),
  ok(
    'list_workers',
    { ...BOB, ...W9 },
    { workers: [{ worker_id: 'w9', version: '2.0' }], next_cursor: null },
  ),
  ok(
    'list_workers',
    { ...ROOT, cursor: 'w8' },
    { workers: [{ worker_id: 'w9', state: 'idle', config: { dpi: 300 } }], next_cursor: null },
  ),
  ok('list_workers', { ...BOB, state: 'offline' }, { workers: [] }),
  no('list_workers', { ...BOB, state: 'asleep' }, 'VALIDATION_ERROR'),
  ok('worker_heartbeat', W9, { ok: true }),
  no('worker_heartbeat', { ...W9, worker_kind: 'agent' }, 'VALIDATION_ERROR'),
  no('drain_worker', { ...BOB, ...W9 }, 'FORBIDDEN'),
  no('drain_worker', { ...ROOT, worker_id: 'w10' }, 'WORKER_NOT_FOUND'),
  ok('drain_worker', { ...ROOT, ...W9 }, { worker_id: 'w9', drain: true }),
  ok('lease_next', { ...W9, wait_seconds: 50 }, { tasks: [], drain: true }),
  ok('worker_heartbeat', W9, { drain: true }),
  ok('drain_worker', { ...ROOT, ...W9, drain: false }, { drain: false }),
  ok('lease_next', { ...W9, accept_types: ['print'] }, { tasks: [] }),
  ok('unregister_worker', W9, { ok: true }),
  no('unregister_worker', { ...W9, worker_kind: 'agent' }, 'VALIDATION_ERROR'),
]
